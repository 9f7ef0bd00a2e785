// Runs: everything that was executed, the newest first.
import { html, useState } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { duration } from "../lib/format.js";
import { nextPage, withHeard, withoutRecord } from "../lib/list.js";
import { FIRST_SHORTCUT, MANIFEST, nameOfKind } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { link } from "../lib/router.js";
import { PageHead } from "../parts/page_head.js";
import { Empty } from "../parts/states.js";
import { causeOf, Status, wordOf } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { Choice, FilterBox, Toolbar } from "../parts/toolbar.js";
import { RUNS } from "../strings/runs.js";

/** @typedef {import("../types/records.js").Run} Run */
/** @typedef {import("../types/records.js").List<Run> & {wanted: Record<string, string | undefined>}} Data */

const STATUSES = ["running", "queued", "waiting", "cancelling", "succeeded", "partially_succeeded", "failed", "timed_out", "cancelled", "interrupted", "skipped", "missed"];
const LIMIT = 100;

export const page = definePage({
  title: RUNS.title,
  reloadOn: ["kind", "status", "subject"],
  /** @returns {Promise<Data>} */
  load: async ({ query, signal }) => {
    const { kind, status, subject } = query;
    return { ...(await api.get("/api/runs", { kind, status, subject, limit: LIMIT }, { signal })), wanted: { kind, status, subject } };
  },
  View: Runs,
  events: "run.created run.updated run.deleted",
  onEvent: changedBy,
});

/** @param {Data} data @param {import("../lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: run }) {
  const { kind, status, subject } = data.wanted;
  if (type === "run.deleted") return withoutRecord(data, run.id, "id");
  const fits = (!kind || run.kind === kind) && (!status || run.status === status) && (!subject || [run.subject_id, run.subject_name].includes(subject));
  return fits ? withHeard(data, run, "id") : withoutRecord(data, run.id, "id");
}

/** @param {import("../lib/page.js").PageProps<Data>} props */
function Runs({ data, query, change }) {
  const [filter, setFilter] = useState(query.q ?? "");
  const filtered = query.kind || query.status || query.subject;
  const empty = html`<${Empty} icon="runs" text=${filtered ? RUNS.noneOfThese : RUNS.none} command=${filtered ? undefined : FIRST_SHORTCUT?.command}
    action=${filtered ? html`<a class="button" href="#/runs">${RUNS.all}</a>` : FIRST_SHORTCUT && html`<a class="button button--primary" href=${FIRST_SHORTCUT.address}>${FIRST_SHORTCUT.label}</a>`} />`;
  const more = nextPage(data, (turn) => change((now) => ({ ...turn(now), wanted: now.wanted })), "/api/runs", { ...data.wanted, limit: LIMIT });
  return html`<${PageHead} title=${RUNS.title} />
    <${Toolbar}><${FilterBox} value=${query.q} onText=${setFilter} />
      <${Choice} name="status" label=${RUNS.status} value=${query.status} options=${[["", RUNS.anyStatus], ...STATUSES.map((status) => [status, wordOf(status)])]} />
      <${Choice} name="kind" label=${RUNS.kind} value=${query.kind} options=${[["", RUNS.anyKind], ...Object.entries(MANIFEST.run_kinds).map(([kind, { label }]) => [kind, label])]} />
      ${query.subject && html`<span class="row"><span dir="auto">${RUNS.only(data.items[0]?.subject_name ?? query.subject)}</span><a class="button button--small" href="#/runs">${RUNS.all}</a></span>`}<//>
    <${Table} label=${RUNS.title} rows=${data.items} columns=${COLUMNS} rowKey=${(/** @type {Run} */ run) => run.id} filter=${filter} empty=${empty} more=${more}
      href=${(/** @type {Run} */ run) => link("runs", run.id)} />`;
}

/** @param {Run} run */
const startOf = (run) => run.started_at ?? run.scheduled_for ?? run.queued_at;

const COLUMNS = [
  { name: "status", title: RUNS.status, value: (/** @type {Run} */ run) => wordOf(run.status), cell: (/** @type {Run} */ run) => html`<${Status} state=${run.status} />` },
  { name: "subject", title: RUNS.subject, primary: true, value: (/** @type {Run} */ run) => run.subject_name },
  { name: "kind", title: RUNS.kind, card: "short", value: (/** @type {Run} */ run) => nameOfKind(run.kind) },
  { name: "started", title: RUNS.started, card: "short", value: startOf, cell: (/** @type {Run} */ run) => html`<${Time} at=${startOf(run)} />` },
  { name: "took", title: RUNS.took, card: "short", align: "end", value: (/** @type {Run} */ run) => run.duration_ms, cell: (/** @type {Run} */ run) => duration(run.duration_ms) },
  { name: "because", title: RUNS.because, hideSmall: true, value: causeOf },
  { name: "reason", title: RUNS.reason, sort: false, value: (/** @type {Run} */ run) => run.reason ?? run.error?.message ?? "" },
];
