// Instants as the bars of a strip.

/** @typedef {import("tocsin/types/records.js").HeartbeatInstant} Instant */

/** A missed ping is as bad as a failure here, while a missed run of a job is a warning. @type {Record<string, string>} */
const STATES = { missed: "down" };

/**
 * @param {readonly Instant[]} instants
 * @returns {import("tocsin/types/records.js").RecentRun[]}  In the form of runs, which the strip shows.
 */
export function barsOf(instants) {
  return instants.map((instant) => {
    const bar = { id: instant.due_at, status: STATES[instant.state] ?? instant.state, started_at: instant.due_at, duration_ms: null };
    return /** @type {any} */ (bar);
  });
}
