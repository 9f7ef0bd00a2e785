// A state by colour, shape and word: colour alone carries no meaning.
import { html } from "../vendor/preact.js";
import { nameOfKind } from "../lib/manifest.js";
import { CAUSES, STATES } from "../strings/states.js";

/** @typedef {"ok" | "bad" | "warn" | "busy" | "off" | "info"} Tone */

/** @type {Record<Tone, string>} Shapes on a field of 12 by 12. */
const SHAPES = {
  ok: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zM5.3 8.4 2.9 6l.9-.9 1.5 1.5 2.9-3 .9.9z",
  bad: "M6 .3 11.7 6 6 11.7.3 6zM5.4 3.4v3.4h1.2V3.4zM5.4 7.7v1.2h1.2V7.7z",
  warn: "M6 .8 11.8 11H.2zM5.4 4.6v3h1.2v-3zM5.4 8.5v1.1h1.2V8.5z",
  busy: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zM6 2.5v7a3.5 3.5 0 0 1 0-7z",
  off: "M2 5.2h8v1.6H2z",
  info: "M1.5 1.5h9v9h-9zM5.4 3v1.2h1.2V3zM5.4 5.2V9h1.2V5.2z",
};

/**
 * @param {string | null | undefined} state
 * @returns {Tone}
 */
export function toneOf(state) {
  return STATES[state ?? ""]?.[0] ?? "off";
}

/**
 * @param {string | null | undefined} state
 * @returns {string}  The word for people; an unknown state is written as the server named it.
 */
export function wordOf(state) {
  return STATES[state ?? ""]?.[1] ?? (state ?? "–").replace(/_/g, " ");
}

/**
 * @param {{trigger: string, actor?: string | null}} run
 * @returns {string}  What began it, and who: `schedule`; `the API, demo`.
 */
export function causeOf({ trigger, actor }) {
  const who = trigger === "schedule" || trigger === actor ? "" : actor;
  return [CAUSES[trigger] ?? nameOfKind(trigger).toLowerCase(), who].filter(Boolean).join(", ");
}

/** @param {{tone: Tone, size?: number}} props */
export function Shape({ tone, size = 12 }) {
  return html`<svg class=${`shape shape--${tone}`} width=${size} height=${size} viewBox="0 0 12 12" aria-hidden="true">
    <path fill-rule="evenodd" d=${SHAPES[tone]} />
  </svg>`;
}

/**
 * The badge for a state; `label` replaces its word, `title` gives the reason.
 * @param {{state: string | null | undefined, label?: string, title?: string, quiet?: boolean}} props
 */
export function Status({ state, label, title, quiet = false }) {
  const tone = toneOf(state);
  return html`<span class=${`status status--${tone}${quiet ? " status--quiet" : ""}`} title=${title}>
    <${Shape} tone=${tone} />${label ?? wordOf(state)}
  </span>`;
}
