// Where a run's output was sent, how that went, and how to send it again.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { RUN } from "../strings/runs.js";

/** @typedef {import("../types/records.js").Run} Run */
/** @typedef {import("../types/records.js").SendResult} SendResult */

const MOST_PAGES = 5;

/** @param {{run: Run}} props */
export function Deliveries({ run }) {
  const { status, results } = run.delivery;
  if (status === "none" && !results.length) return null;
  const columns = [
    { name: "result", title: RUN.result, sort: false, cell: (/** @type {SendResult} */ result) => html`<${Status} state=${result.ok ? "delivered" : "failed"} title=${result.error || undefined} />` },
    { name: "target", title: RUN.target, primary: true, sort: false, value: (/** @type {SendResult} */ result) => `${result.channel}:${result.target}` },
    { name: "message", title: RUN.message, sort: false, value: (/** @type {SendResult} */ result) => result.error || result.message, cell: (/** @type {SendResult} */ result) => html`<span class="run__message" dir="auto">${result.error || result.message}</span>` },
    { name: "again", title: "", bare: true, cell: (/** @type {SendResult} */ result) => html`<${ActionButton} small icon="retry" run=${() => replay(run, result)}>${RUN.replay}<//>` },
  ];
  return html`<section class="stack"><div class="row"><h2>${RUN.delivery}</h2><${Status} state=${status} /></div>
    ${results.length > 0 && html`<${Table} label=${RUN.delivery} rows=${results} rowKey=${(/** @type {SendResult} */ result) => `${result.channel}:${result.target}`} columns=${columns} />`}</section>`;
}

/** @param {Run} run @param {SendResult} result */
async function replay(run, result) {
  const id = await deliveryOf(run, result);
  if (!id) return toast.info(RUN.notFound);
  const made = await api.post(url`/api/deliveries/${id}/replay`, {});
  return toast.ok(RUN.replayed, { label: RUN.open, run: () => (location.hash = link("deliveries", made.id)) });
}

/**
 * Deliveries name the run in their key.
 * @param {Run} run
 * @param {SendResult} result
 * @returns {Promise<string>}
 */
async function deliveryOf(run, { channel, target }) {
  let cursor = "";
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const found = await api.get("/api/deliveries", { channel, target, since: run.queued_at, limit: 200, cursor });
    const mine = found.items.find((one) => one.idempotency_key?.includes(`:${run.id}:`));
    if (mine) return mine.id;
    cursor = found.next_cursor ?? "";
    if (!cursor) break;
  }
  return "";
}
