// The message that a request becomes, as facts.
import { html } from "tocsin/vendor/preact.js";
import { Status } from "tocsin/parts/status.js";
import { DOORS } from "./strings.js";

/** @typedef {import("tocsin/vendor/preact.js").Child} Child */
/** @typedef {[name: string, value: Child]} Fact */

const STATES = /** @type {Record<string, string>} */ ({ ok: "success", info: "info", warning: "warning", critical: "error" });
const SAFE = /^https?:/i;

/** @param {{name: string}} props */
export function Severity({ name }) {
  return html`<${Status} state=${STATES[name]} label=${DOORS.severities[name] ?? name} quiet />`;
}

/**
 * @param {import("tocsin/types/records.js").DoorRequest | import("tocsin/types/records.js").DoorPreview} one
 * @param {Fact | false} [more]
 * @returns {Fact[]}
 */
export function facts(one, more = false) {
  const { link } = one;
  /** @type {Fact[]} */
  const all = [
    [DOORS.noteOf, one.note],
    [DOORS.titleOf, one.title],
    [DOORS.text, one.text],
    [DOORS.severity, one.severity && html`<${Severity} name=${one.severity} />`],
    [DOORS.key, one.key],
    [DOORS.link, link && SAFE.test(link) ? html`<a href=${link} target="_blank" rel="noopener noreferrer">${link}</a>` : link],
    [DOORS.profile, one.profile],
    ...(more ? [more] : []),
  ];
  return all.filter(([, value]) => value);
}

/** JSON on several lines; other text as it is. @param {string} payload */
export function pretty(payload) {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
