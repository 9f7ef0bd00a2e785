// The reachability of a host and whether its key is known, for the list and its own page.
import { html } from "tocsin/vendor/preact.js";
import { duration } from "tocsin/lib/format.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { SSH } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Host} Host */

/** `no` is the word for a failure, unless the reason is shown as a whole. */
/** @param {{no?: string, seen?: {ok: boolean, error: string | null, method?: string | null}, ms?: number | null, whole?: boolean}} props */
export function Reach({ seen, ms, no = "", whole = false }) {
  if (!seen) return "–";
  const text = seen.ok ? [took(ms), SSH.by(seen.method ?? null)].filter(Boolean).join(" ") : whole ? seen.error : no;
  return html`<span class="reach" title=${seen.error ?? undefined} dir="auto"><${Shape} tone=${seen.ok ? "ok" : "bad"} />${text}</span>`;
}

/** @type {import("tocsin/parts/table.js").Column<Host>} */
export const keyColumn = {
  name: "key",
  title: SSH.key,
  value: (host) => host.host_key.status,
  cell: (host) => html`<span class="hostkey"><${Status} state=${host.host_key.status} quiet />
    ${host.host_key.fingerprint && html`<code class="hostkey__print" title=${host.host_key.fingerprint}>${host.host_key.fingerprint}</code>`}</span>`,
};

/** A host on the same network answers in less than one millisecond. @param {number | null | undefined} ms */
function took(ms) {
  return ms != null && ms < 1 ? SSH.under : duration(ms);
}
