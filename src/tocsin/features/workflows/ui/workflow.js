// One workflow: its graph, which follows an active run, its text, and its runs.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { withHeard } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { link, setQuery } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Icon } from "tocsin/parts/icon.js";
import { Later } from "tocsin/parts/later.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { causeOf, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Graph } from "./graph.js";
import { runWorkflow } from "./run.js";
import { WORKFLOW, WORKFLOWS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Workflow} Workflow */
/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {{workflow: Workflow, version: string, runs: import("tocsin/types/records.js").List<Run>}} Data */

const LIMIT = 50;
const ENDED = ["succeeded", "partially_succeeded", "failed", "timed_out", "cancelled", "interrupted", "skipped", "missed"];

export const page = definePage({
  title: ({ params }) => params.name,
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const path = url`/api/workflows/${params.name}`;
    const [workflow, runs] = await Promise.all([
      api.get(path, {}, { signal }),
      api.get("/api/runs", { kind: "workflow", subject: params.name, limit: LIMIT }, { signal }),
    ]);
    return { workflow, runs, version: api.etagOf(path) };
  },
  View: WorkflowPage,
  events: "workflow.* run.created run.updated",
  onEvent: changedBy,
});

/** @param {Data} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: record }) {
  if (type.startsWith("workflow.")) return [record.name, record.id].includes(data.workflow.name) ? undefined : data;
  if (record.kind !== "workflow" || record.subject_name !== data.workflow.name) return data;
  const runs = withHeard(data.runs, record, "id");
  return runs && { ...data, runs };
}

const editor = async () => (await import("./edit.js")).Editor;

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function WorkflowPage({ data, change, reload }) {
  const { workflow } = data;
  useKeys([{ keys: "r", label: WORKFLOW.run, run: () => ask(false) }, { keys: "d", label: WORKFLOW.dryRun, run: () => ask(true) }]);
  const ask = (/** @type {boolean} */ dry) => void runWorkflow(workflow.name, dry).catch((error) => toast.problem(error));
  const wrong = (workflow.errors ?? []).length;
  const note = html`<span class="row"><${Status} state=${workflow.valid ? "valid" : "invalid"} label=${workflow.valid ? undefined : WORKFLOW.invalid(wrong)} /><span dir="auto">${workflow.description}</span></span>`;
  const actions = html`<${ActionButton} icon="check" run=${() => validate(workflow.name)}>${WORKFLOW.validate}<//>
    <${ActionButton} run=${() => runWorkflow(workflow.name, true)} disabled=${!workflow.valid}>${WORKFLOW.dryRun}<//>
    <${ActionButton} kind="primary" icon="play" run=${() => runWorkflow(workflow.name, false)} disabled=${!workflow.valid}>${WORKFLOW.run}<//>`;
  const saved = (/** @type {Workflow} */ next, /** @type {string} */ version) => change((now) => ({ ...now, workflow: next, version }));
  return html`<${PageHead} title=${workflow.name} note=${note} back=${{ href: "#/workflows", label: WORKFLOWS.title }} actions=${actions} />
    <${Tabs} label=${workflow.name} tabs=${[
      { name: "graph", label: WORKFLOW.graph, view: () => html`<${Drawn} data=${data} />` },
      { name: "yaml", label: WORKFLOW.yaml, count: wrong || null, view: () => html`<${Later} key=${workflow.name} load=${editor} props=${{ workflow, version: data.version, reload, saved }} />` },
      { name: "runs", label: WORKFLOW.runs, view: () => html`<${RunList} data=${data} change=${change} />` },
    ]} />`;
}

/** Validate the stored file; errors are shown in the tab of its text. @param {string} name */
async function validate(name) {
  const found = await api.post(url`/api/workflows/${name}/validate`, {});
  if (found.valid) return toast.ok(WORKFLOW.valid);
  setQuery({ tab: "yaml" });
  return toast.info(WORKFLOW.invalid(found.errors.length));
}

/** @param {{data: Data}} props */
function Drawn({ data: { workflow, runs } }) {
  const live = runs.items.find((run) => !ENDED.includes(run.status)) ?? null;
  const run = useWholeRun(live);
  const drawing = workflow.graph;
  if (!drawing?.nodes.length) return html`<${Empty} icon="workflows" text=${WORKFLOW.noGraph} action=${html`<button type="button" class="button" onClick=${() => setQuery({ tab: "yaml" })}>${WORKFLOW.toYaml}</button>`} />`;
  return html`${live && html`<p class="row" role="status"><span>${WORKFLOW.live}</span><${Status} state=${live.status} /><a href=${link("runs", live.id)}>${WORKFLOW.open}</a></p>`}
    <${Graph} drawing=${drawing} label=${WORKFLOW.graph} steps=${run?.steps} />
    ${(workflow.warnings ?? []).map((warning) => html`<p class="notice notice--warn"><span dir="auto">${warning.detail}</span></p>`)}
    <dl class="facts panel facts--panel"><div><dt>${WORKFLOW.file}</dt><dd><code class="wraps" dir="auto">${workflow.file}</code></dd></div>
      <div><dt>${WORKFLOW.changed}</dt><dd><${Time} at=${workflow.updated_at} /></dd></div>
      ${workflow.notify_profile && html`<div><dt>${WORKFLOW.profile}</dt><dd dir="auto">${workflow.notify_profile}</dd></div>`}
      ${workflow.schedules.length > 0 && html`<div><dt>${WORKFLOW.schedules}</dt><dd>${workflow.schedules.map((id) => html`<${Schedule} id=${id} key=${id} /> `)}</dd></div>`}</dl>`;
}

/** A cron job that starts the workflow, by its name. @param {{id: string}} props */
function Schedule({ id }) {
  const [name, setName] = useState("");
  useEffect(() => void api.get(url`/api/cron/jobs/${id}`).then((job) => setName(job.name), () => undefined), [id]); // without it, the ID stays
  return html`<a href=${link("cron", id)} dir="auto"><${Icon} name="cron" size=${14} /> ${name || id.slice(0, 8)}</a>`;
}

/** A run with its steps, which events omit: loaded again at each change. @param {Run | null} live */
function useWholeRun(live) {
  const [run, setRun] = useState(/** @type {Run | null} */ (null));
  useEffect(() => {
    if (!live) return setRun(null);
    const stop = new AbortController();
    api.get(url`/api/runs/${live.id}`, {}, { signal: stop.signal }).then(setRun, () => undefined); // retried at the next change
    return () => stop.abort();
  }, [live]);
  return run;
}

/** @param {{data: Data, change: (change: (now: Data) => Data) => void}} props */
function RunList({ data, change }) {
  const { workflow, runs } = data;
  const more = runs.next_cursor ? async () => {
    const next = await api.get("/api/runs", { kind: "workflow", subject: workflow.name, limit: LIMIT, cursor: runs.next_cursor });
    change((now) => ({ ...now, runs: { ...next, items: [...now.runs.items, ...next.items] } }));
  } : undefined;
  const empty = html`<${Empty} icon="runs" text=${WORKFLOW.noRuns} command=${`tocsin workflows run ${workflow.name}`} action=${html`<${ActionButton} icon="play" run=${() => runWorkflow(workflow.name, false)}>${WORKFLOW.run}<//>`} />`;
  return html`<${Table} label=${WORKFLOW.runs} rows=${runs.items} rowKey=${(/** @type {Run} */ run) => run.id} href=${(/** @type {Run} */ run) => link("runs", run.id)} more=${more} empty=${empty} columns=${[
    { name: "started", title: WORKFLOW.begun, primary: true, value: (/** @type {Run} */ run) => run.started_at ?? run.queued_at, cell: (/** @type {Run} */ run) => html`<${Time} at=${run.started_at ?? run.queued_at} />` },
    { name: "status", title: WORKFLOW.status, value: (/** @type {Run} */ run) => run.status, cell: (/** @type {Run} */ run) => html`<${Status} state=${run.status} />` },
    { name: "took", title: WORKFLOW.took, align: "end", value: (/** @type {Run} */ run) => run.duration_ms, cell: (/** @type {Run} */ run) => duration(run.duration_ms) },
    { name: "because", title: WORKFLOW.because, value: causeOf },
    { name: "reason", title: WORKFLOW.reason, sort: false, value: (/** @type {Run} */ run) => run.reason ?? run.error?.message ?? "" },
  ]} />`;
}
