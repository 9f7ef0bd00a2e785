// Cron: every job with its state, times and last results, and the runs that are due within a day.
import { html, useEffect, useMemo, useState } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { withRecord, withoutRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CopyCommand } from "tocsin/parts/copy.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status, wordOf } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { jobWithRun, runJob, standing, switchJob, withoutTime } from "./actions.js";
import { Timeline } from "./timeline.js";
import { CRON } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").CronJob} CronJob */
/** @typedef {import("tocsin/types/records.js").List<CronJob>} Jobs */
/** @typedef {import("tocsin/types/records.js").Run} Run */

/** Load one screen first, then the rest in the largest pages. */
const FIRST = 50;
const LIMIT = 200;
const STATES = ["failing", "scheduled", "running", "paused", "auto_disabled", "completed", "invalid"];

export const page = definePage({
  title: CRON.title,
  /** @returns {Promise<Jobs>} */
  load: ({ signal }) => api.get("/api/cron/jobs", { limit: FIRST }, { signal }),
  View: Cron,
  events: "cron.* run.created run.updated",
  onEvent: changedBy,
});

/** @param {Jobs} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: record }) {
  if (type === "cron.deleted") return withoutRecord(data, record.id, "id");
  if (type.startsWith("run.")) return record.kind === "cron" ? withRun(data, record) : data;
  return record.schedule === undefined ? undefined : withRecord(data, record, "id");
}

/** @param {Jobs} data @param {Run} run */
function withRun(data, run) {
  const job = data.items.find(({ id }) => id === run.subject_id);
  if (!job) return data;
  return withRecord(data, jobWithRun(job, run), "id");
}

/** @param {import("tocsin/lib/page.js").PageProps<Jobs>} props */
function Cron(props) {
  useKeys([{ keys: "n", label: CRON.new, run: () => go("#/cron/new") }]);
  return html`<${PageHead} title=${CRON.title} actions=${html`<${NewJob} />`} />
    <${Tabs} label=${CRON.title} tabs=${[
      { name: "jobs", label: CRON.jobs, count: props.data.total, view: () => html`<${JobList} ...${props} />` },
      { name: "ahead", label: CRON.ahead, view: () => html`<${Timeline} />` },
    ]} />`;
}

function NewJob() {
  return html`<a class="button button--primary" href="#/cron/new"><${Icon} name="plus" />${CRON.new}</a>`;
}

/** @param {import("tocsin/lib/page.js").PageProps<Jobs>} props */
function JobList({ data, query, change }) {
  const [filter, setFilter] = useState(query.q ?? "");
  useRest(data, change);
  const take = (/** @type {CronJob} */ job) => change((now) => withRecord(now, job, "id"));
  const tags = useMemo(() => [...new Set(data.items.flatMap((job) => job.tags))].sort(), [data.items]);
  const rows = useMemo(() => data.items.filter((job) => (!query.state || standing(job) === query.state) && (!query.tag || job.tags.includes(query.tag))), [data.items, query.state, query.tag]);
  const columns = useMemo(() => columnsOf(take), []);
  const empty = !data.items.length && html`<${Empty} icon="cron" text=${CRON.none} command=${CRON.noneCommand} action=${html`<${NewJob} />`} />`;
  return html`${data.items.length > 0 && html`<${Toolbar}>
      <${FilterBox} value=${query.q} onText=${setFilter} />
      <${Choice} name="state" label=${CRON.stateFilter} value=${query.state} options=${[["", CRON.anyState], ...STATES.map((state) => [state, wordOf(state)])]} />
      ${tags.length > 0 && html`<${Choice} name="tag" label=${CRON.tag} value=${query.tag} options=${[["", CRON.anyTag], ...tags.map((tag) => [tag, tag])]} />`}
      ${data.next_cursor && html`<span class="muted" role="status">${CRON.loading(data.items.length, data.total ?? 0)}</span>`}
    <//>`}
    <${Table} label=${CRON.jobs} rows=${rows} columns=${columns} steady rowKey=${(/** @type {CronJob} */ job) => job.id} filter=${filter} remember="cron"
      href=${(/** @type {CronJob} */ job) => link("cron", job.id)} empty=${empty} total=${data.total} keys=${{ r: runAnd, e: (/** @type {CronJob} */ job) => go(link("cron", job.id, "edit")) }} />
    <p class="cron__import muted">${CRON.importHint} <${CopyCommand} command=${CRON.importCommand} /></p>`;
}

/** The filter searches all jobs, so load the pages after the first one. @param {Jobs} data @param {(change: (now: Jobs) => Jobs) => void} change */
function useRest(data, change) {
  const cursor = data.next_cursor;
  useEffect(() => {
    if (!cursor) return undefined;
    const stop = new AbortController();
    /** @param {Jobs} more */
    const add = (more) => change((now) => {
      const known = new Set(now.items.map(({ id }) => id));
      return { ...more, items: [...now.items, ...more.items.filter(({ id }) => !known.has(id))] };
    });
    const failed = (/** @type {unknown} */ error) => void (stop.signal.aborted || toast.problem(error, CRON.stopped));
    api.get("/api/cron/jobs", { limit: LIMIT, cursor }, { signal: stop.signal }).then(add, failed);
    return () => stop.abort();
  }, [cursor]);
}

/** @param {CronJob} job */
function runAnd(job) {
  runJob(job).catch((error) => toast.problem(error));
}

/** @param {(job: CronJob) => void} take */
function columnsOf(take) {
  return [
    { name: "state", title: CRON.state, value: (/** @type {CronJob} */ job) => wordOf(standing(job)), cell: (/** @type {CronJob} */ job) => html`<${Status} state=${standing(job)} title=${job.paused_reason ?? undefined} />` },
    { name: "name", title: CRON.job, primary: true, value: (/** @type {CronJob} */ job) => job.name },
    { name: "schedule", title: CRON.schedule, card: "wide", value: (/** @type {CronJob} */ job) => job.schedule_text ?? job.schedule ?? CRON.notValid, cell: scheduleOf },
    { name: "last", title: CRON.last, value: (/** @type {CronJob} */ job) => lastAt(job), cell: lastOf },
    { name: "next", title: CRON.next, value: (/** @type {CronJob} */ job) => job.next_run_at, cell: (/** @type {CronJob} */ job) => html`<${Time} at=${job.next_run_at} zone=${job.timezone} none=${withoutTime(job)} />` },
    { name: "history", title: CRON.history, sort: false, cell: historyOf },
    { name: "actions", title: "", sort: false, bare: "icons", cell: (/** @type {CronJob} */ job) => html`<${Acts} job=${job} take=${take} />` },
  ];
}

/** @param {CronJob} job */
function scheduleOf(job) {
  return html`<span title=${job.schedule}>${job.schedule_text ?? html`<span class="muted">${CRON.notValid}</span>`}</span>`;
}

/** @param {CronJob} job */
function lastAt({ last_run: run }) {
  return run && (run.started_at ?? run.scheduled_for ?? run.queued_at);
}

/** @param {CronJob} job */
function lastOf(job) {
  const run = job.last_run;
  if (!run) return html`<span class="muted">${CRON.neverRan}</span>`;
  return html`<a class="cron__last" href=${link("runs", run.id)} title=${run.reason ?? undefined}><${Status} state=${run.status} quiet />
    <span class="muted numbers"><${Time} at=${lastAt(job)} zone=${job.timezone} />${run.duration_ms != null && `, ${duration(run.duration_ms)}`}</span></a>`;
}

/** @param {CronJob} job */
function historyOf(job) {
  return html`<${HistoryBar} runs=${job.recent} newestFirst label=${CRON.historyOf(job.name)} href=${(/** @type {any} */ run) => run.id && link("runs", run.id)} />`;
}

/** @param {{job: CronJob, take: (job: CronJob) => void}} props */
function Acts({ job, take }) {
  const turn = (/** @type {any} */ event) => {
    const wanted = event.currentTarget.checked;
    event.currentTarget.checked = job.enabled; // the server decides which state is shown
    switchJob(job, wanted, take).catch((error) => toast.problem(error));
  };
  return html`<span class="row"><input type="checkbox" role="switch" class="switch" checked=${job.enabled} aria-label=${CRON.toggle(job.name)} title=${CRON.toggle(job.name)} onChange=${turn} />
    <${ActionButton} run=${() => runJob(job)} icon="play" label=${CRON.runLabel(job.name)} /></span>`;
}
