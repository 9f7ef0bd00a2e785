// One cron job: its state, its runs, the log of the last run, its definition, and its next times.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { absolute, duration } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { withHeard } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { useRunLog } from "tocsin/lib/run_log.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CodeView } from "tocsin/parts/code.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { Icon } from "tocsin/parts/icon.js";
import { LogView } from "tocsin/parts/log_view.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { causeOf, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { deleteJob, isAtStart, jobWithRun, pauseJob, runJob, runJobWith, standing, switchJob, withoutTime } from "./actions.js";
import { CRON, JOB } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").CronJob} CronJob */
/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {{job: CronJob, runs: import("tocsin/types/records.js").List<Run>}} Data */

export const page = definePage({
  title: ({ data }) => data?.job.name ?? CRON.job,
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const [job, runs] = await Promise.all([
      api.get(url`/api/cron/jobs/${params.id}`, {}, { signal }),
      api.get(url`/api/cron/jobs/${params.id}/logs`, { limit: 50, tail: 1 }, { signal }),
    ]);
    return { job, runs };
  },
  View: Job,
  events: "cron.* run.created run.updated",
  onEvent: changedBy,
});

/** @param {Data} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: record }) {
  if (type.startsWith("cron.")) return record.id === data.job.id ? undefined : data;
  if (record.subject_id !== data.job.id) return data;
  const runs = withHeard(data.runs, record, "id");
  return runs && { job: jobWithRun(data.job, record), runs };
}

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Job({ data, change, reload }) {
  const { job } = data;
  const take = (/** @type {CronJob} */ next) => change((now) => ({ ...now, job: { ...now.job, ...next } }));
  const ours = job.source !== "file";
  useKeys([
    { keys: "r", label: CRON.run, run: () => void runJob(job).catch((error) => toast.problem(error)) },
    ...(ours ? [{ keys: "e", label: CRON.edit, run: () => go(link("cron", job.id, "edit")) }] : []),
  ]);
  const note = html`<span class="row"><${Status} state=${standing(job)} />${job.schedule_text ?? CRON.notValid}</span>${job.description && html`<p dir="auto">${job.description}</p>`}`;
  return html`<${PageHead} title=${job.name} note=${note} back=${{ href: "#/cron", label: CRON.title }} actions=${html`<${Actions} job=${job} ours=${ours} take=${take} />`} />
    <${Notices} job=${job} />
    <${Facts} job=${job} />
    <${Tabs} label=${job.name} tabs=${[
      { name: "runs", label: JOB.runs, view: () => html`<${RunList} data=${data} change=${change} />` },
      { name: "log", label: JOB.log, view: () => html`<${LastLog} runs=${data.runs.items} reload=${reload} />` },
      { name: "definition", label: JOB.definition, view: () => html`<${Definition} job=${job} />` },
      { name: "preview", label: JOB.preview, view: () => html`<${Preview} job=${job} />` },
    ]} />`;
}

/** @param {{job: CronJob, ours: boolean, take: (job: CronJob) => void}} props */
function Actions({ job, ours, take }) {
  const off = !job.enabled || job.state === "paused" || job.state === "auto_disabled";
  return html`<${ActionButton} kind="primary" icon="play" run=${() => runJob(job)}>${CRON.run}<//>
    <${ActionButton} run=${() => runJobWith(job)}>${CRON.runWith}<//>
    ${off ? html`<${ActionButton} run=${() => switchJob(job, true, take)}>${CRON.resume}<//>`
      : html`<${ActionButton} icon="pause" run=${() => pauseJob(job, take)}>${CRON.pause}<//>`}
    ${ours && html`<a class="button" href=${link("cron", job.id, "edit")}><${Icon} name="edit" size=${16} />${CRON.edit}</a>`}
    <a class="button" href=${`#/cron/new?from=${encodeURIComponent(job.id)}`}><${Icon} name="copy" size=${16} />${CRON.copy}</a>
    ${ours && html`<${ActionButton} icon="trash" run=${() => deleteJob(job)}>${CRON.delete}<//>`}`;
}

/** @param {{job: CronJob}} props */
function Notices({ job }) {
  return html`${job.problem && html`<p class="notice notice--bad"><strong>${JOB.problem}</strong> <span dir="auto">${job.problem}</span></p>`}
    ${job.file && html`<p class="notice notice--info">${JOB.file} <code dir="auto">${job.file}</code> ${JOB.fileHint}</p>`}
    ${(job.paused_until || job.paused_reason) && html`<p class="notice notice--warn">
      ${job.paused_until && html`<span>${JOB.pausedUntil} ${absolute(job.paused_until, job.timezone)}</span>`}
      ${job.paused_reason && html`<span>${JOB.because} <span dir="auto">${job.paused_reason}</span></span>`}</p>`}`;
}

/** @param {{job: CronJob}} props */
function Facts({ job }) {
  const rate = job.success_rate_30d;
  return html`<dl class="facts panel facts--panel">
      <div><dt>${CRON.next}</dt><dd>${job.next_run_at ? html`<${Time} at=${job.next_run_at} zone=${job.timezone} /><br /><span class="muted cron__when">${absolute(job.next_run_at, job.timezone)}</span>` : withoutTime(job)}</dd></div>
      <div><dt>${CRON.last}</dt><dd>${job.last_run ? html`<a href=${link("runs", job.last_run.id)}><${Status} state=${job.last_run.status} quiet /></a> <${Time} at=${job.last_run.started_at ?? job.last_run.queued_at} zone=${job.timezone} />` : CRON.neverRan}</dd></div>
      <div><dt>${JOB.success}</dt><dd class="numbers">${rate === null ? "–" : `${Math.round(rate * 100)} %`}</dd></div>
      <div><dt>${JOB.usual}</dt><dd class="numbers">${duration(job.duration_p50_ms)}</dd></div>
      <div><dt>${JOB.slow}</dt><dd class="numbers">${duration(job.duration_p95_ms)}</dd></div>
      <div><dt>${JOB.failures}</dt><dd class="numbers">${job.consecutive_failures}</dd></div>
      <div><dt>${CRON.history}</dt><dd><${HistoryBar} runs=${job.recent} newestFirst label=${CRON.historyOf(job.name)} href=${(/** @type {any} */ run) => run.id && link("runs", run.id)} /></dd></div></dl>`;
}

/** @param {{data: Data, change: (change: (now: Data) => Data) => void}} props */
function RunList({ data, change }) {
  const { job, runs } = data;
  const more = runs.next_cursor ? async () => {
    const next = await api.get(url`/api/cron/jobs/${job.id}/logs`, { limit: 50, tail: 1, cursor: runs.next_cursor });
    change((now) => ({ ...now, runs: { ...next, items: [...now.runs.items, ...next.items] } }));
  } : undefined;
  const empty = html`<${Empty} icon="runs" text=${JOB.noRuns} action=${html`<${ActionButton} icon="play" run=${() => runJob(job)}>${CRON.run}<//>`} command=${`tocsin cron run ${job.name}`} />`;
  return html`<${Table} label=${JOB.runs} rows=${runs.items} rowKey=${(/** @type {Run} */ run) => run.id} href=${(/** @type {Run} */ run) => link("runs", run.id)} more=${more} empty=${empty}
    columns=${[
      { name: "started", title: JOB.started, primary: true, value: (/** @type {Run} */ run) => run.started_at ?? run.scheduled_for ?? run.queued_at, cell: (/** @type {Run} */ run) => html`<${Time} at=${run.started_at ?? run.scheduled_for ?? run.queued_at} zone=${job.timezone} />` },
      { name: "status", title: JOB.status, value: (/** @type {Run} */ run) => run.status, cell: (/** @type {Run} */ run) => html`<${Status} state=${run.status} />` },
      { name: "took", title: JOB.duration, align: "end", value: (/** @type {Run} */ run) => run.duration_ms, cell: (/** @type {Run} */ run) => duration(run.duration_ms) },
      { name: "trigger", title: JOB.trigger, value: causeOf },
      { name: "reason", title: JOB.reason, sort: false, value: (/** @type {Run} */ run) => run.reason ?? run.error?.message ?? "" },
    ]} />`;
}

/** @param {{runs: Run[], reload: () => Promise<void>}} props */
function LastLog({ runs }) {
  const run = runs.find(({ started_at }) => started_at);
  if (!run) return html`<${Empty} icon="runs" text=${JOB.noLog} />`;
  return html`<p class="row"><span>${JOB.logOf}</span><${Status} state=${run.status} /><${Time} at=${run.started_at} /><a href=${link("runs", run.id)}>${JOB.whole}</a></p>
    <${RunLog} run=${run} key=${run.id} />`;
}

/** @param {{run: Run}} props */
function RunLog({ run }) {
  const log = useRunLog(run.id, { lines: run.output.lines, failed: (error) => toast.problem(error) });
  return html`<${LogView} log=${log} name=${`${run.subject_name}-${run.id}.log`} running=${!run.finished_at} height="short" />`;
}

/** @param {{job: CronJob}} props */
function Definition({ job }) {
  /** @type {Record<string, any>} */
  const plain = job;
  const fields = JOB.fields.map(([name, label]) => ({ label, value: plain[name] })).filter(({ value }) => value !== null && value !== "" && value !== undefined && String(value));
  const asked = ["schedule", "timezone", "params", "env", "retry", "success_exit_codes"];
  const json = Object.fromEntries(["name", ...asked, ...JOB.fields.map(([name]) => name)].map((name) => [name, plain[name]]));
  return html`<${CodeView} text=${job.command ?? ""} label=${CRON.job} />
    <dl class="facts panel facts--panel">${fields.map(({ label, value }) => html`<div><dt>${label}</dt><dd dir="auto">${Array.isArray(value) ? value.join(", ") : String(value)}</dd></div>`)}
      <div><dt>${JOB.created}</dt><dd><${Time} at=${job.created_at} /> ${job.created_by && html`${JOB.by} <span dir="auto">${job.created_by}</span>`}</dd></div>
      <div><dt>${JOB.changed}</dt><dd><${Time} at=${job.updated_at} /></dd></div></dl>
    <details><summary>${JOB.lines}</summary><${CodeView} text=${JSON.stringify(json, null, 2)} label=${JOB.lines} /></details>`;
}

/** @param {{job: CronJob}} props */
function Preview({ job }) {
  const next = job.next_runs ?? [];
  if (!next.length) return html`<${Empty} icon="cron" text=${isAtStart(job.schedule) ? JOB.atStart : JOB.noNext} />`;
  return html`<${Table} label=${JOB.preview} rows=${next} rowKey=${(/** @type {any} */ one) => one.at} columns=${[
    { name: "in", title: CRON.next, primary: true, sort: false, value: (/** @type {any} */ one) => one.at, cell: (/** @type {any} */ one) => html`<${Time} at=${one.at} />` },
    { name: "local", title: JOB.local, sort: false, value: (/** @type {any} */ one) => absolute(one.at, job.timezone) },
    { name: "here", title: JOB.here, sort: false, value: (/** @type {any} */ one) => absolute(one.at) },
    { name: "note", title: JOB.note, sort: false, value: (/** @type {any} */ one) => one.note ?? "" },
  ]} />`;
}
