// The destination of a run's output, its delivery, and sending it again.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { channelName } from "../lib/channels.js";
import { link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { RUN } from "../strings/runs.js";

/** @typedef {import("../types/records.js").Run} Run */
/** @typedef {import("../types/records.js").OutputResult} OutputResult */

/** @param {{run: Run}} props */
export function Deliveries({ run }) {
  const { status, results } = run.delivery;
  if (status === "none" && !results.length) return null;
  const columns = [
    { name: "result", title: RUN.result, sort: false, cell: (/** @type {OutputResult} */ result) => html`<${Status} state=${result.ok ? "delivered" : "failed"} title=${result.error || undefined} />` },
    { name: "target", title: RUN.target, primary: true, sort: false, value: (/** @type {OutputResult} */ result) => `${channelName(result.channel)} ${result.target}` },
    { name: "message", title: RUN.message, sort: false, value: (/** @type {OutputResult} */ result) => result.error || result.message, cell: (/** @type {OutputResult} */ result) => html`<span class="run__message" dir="auto">${result.error || result.message}</span>` },
    { name: "again", title: "", bare: true, cell: (/** @type {OutputResult} */ result) => result.delivery_id && html`<${ActionButton} small icon="retry" about=${`${channelName(result.channel)} ${result.target}`} run=${() => replay(String(result.delivery_id))}>${RUN.replay}<//>` },
  ];
  return html`<section class="stack"><div class="row"><h2>${RUN.delivery}</h2><${Status} state=${status} /></div>
    ${results.length > 0 && html`<${Table} label=${RUN.delivery} rows=${results} rowKey=${(/** @type {OutputResult} */ result) => `${result.channel}:${result.target}`} columns=${columns} />`}</section>`;
}

/** @param {string} id */
async function replay(id) {
  const made = await api.post(url`/api/deliveries/${id}/replay`, {});
  return toast.ok(RUN.replayed, { label: RUN.open, run: () => (location.hash = link("deliveries", made.id)) });
}
