// What Home says.
export const HOME = {
  title: "Home",
  firstSteps: "First steps",
  attention: "Needs attention",
  allWell: "Nothing needs attention.",
  unknown: "The current state is unknown. Last response of the server:",
  open: "Open",
  areas: "Areas",
  noSummary: "No details",
  lastEvent: "last event",
  services: "Services",
  /** @type {Record<string, string>} */
  serviceNames: { gateway: "Gateway", bot: "Bot", session_store: "Session store", scheduler: "Scheduler" },
  next: "Next runs",
  nextNone: "No scheduled runs.",
  recent: "Last runs",
  recentNone: "No runs yet.",
  allRuns: "All runs",
  strip: "Last and next 24 hours",
  stripNow: "now",
  /** @param {string} hour @param {number} good @param {number} bad @param {number} due */
  stripHour: (hour, good, bad, due) =>
    [`${hour}:`, good && `${good} ok`, bad && `${bad} failed`, due && `${due} due`].filter(Boolean).join(" "),
  /** @param {number} good @param {number} bad @param {number} due */
  stripSummary: (good, bad, due) => `Last 24 hours: ${good} ok, ${bad} failed. Next 24 hours: ${due} due.`,
  stripOk: "ok",
  stripBad: "failed",
  stripDue: "due",
  /** @param {number} most */
  stripCut: (most) => `after the next ${most.toLocaleString("en")} runs`,
  /** @param {number} active @param {number} queued */
  active: (active, queued) => [active && `${active} running`, queued && `${queued} queued`].filter(Boolean).join(", "),
  /** @param {number} count */
  waiting: (count) => `${count} waiting for approval`,
  stats: { succeeded: "succeeded", failed: "failed", missed: "missed", span: "Last 24 h:" },
  send: "Send a message",
  checked: "Checked",
};
