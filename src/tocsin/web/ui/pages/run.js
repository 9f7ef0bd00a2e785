// One run: its result, its live output, and its actions.
import { html, useEffect, useRef } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { absolute, duration } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { plainText } from "../lib/log.js";
import { addressOfSubject, MANIFEST, nameOfKind } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { link } from "../lib/router.js";
import { useRunLog } from "../lib/run_log.js";
import { ActionButton } from "../parts/action.js";
import { CodeView } from "../parts/code.js";
import { CopyButton } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Later } from "../parts/later.js";
import { LogView } from "../parts/log_view.js";
import { PageHead } from "../parts/page_head.js";
import { Said } from "../parts/said.js";
import { causeOf, Status } from "../parts/status.js";
import { Duration, Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { cancelRun, retryRun } from "../parts/run_actions.js";
import { Deliveries } from "../pages/run_delivery.js";
import { Hosts } from "../pages/run_hosts.js";
import { RUN, RUNS } from "../strings/runs.js";

/** @typedef {import("../types/records.js").Run} Run */

const FEW_LINES = 12;
/** About forty printed pages. */
const MOST_PRINTED = 2000;

export const page = definePage({
  title: ({ data }) => (data ? RUN.title(data.subject_name) : RUNS.run),
  /** @returns {Promise<Run>} */
  load: ({ params, signal }) => api.get(url`/api/runs/${params.id}`, {}, { signal }),
  View: RunPage,
  events: "run.updated run.deleted",
  onEvent: (data, { data: record }) => (record.id === data.id ? undefined : data), // the event has no steps and no hosts
});

/** @param {import("../lib/page.js").PageProps<Run>} props */
function RunPage({ data: run, change }) {
  const ended = run.finished_at !== null;
  const take = (/** @type {Run} */ next) => change((now) => ({ ...now, ...next }));
  useKeys([ended ? { keys: "r", label: RUN.retry, run: () => void retryRun(run).catch((error) => toast.problem(error)) } : { keys: "c", label: RUN.cancel, run: () => void cancelRun(run, take) }]);
  const waiting = (run.steps ?? []).filter((step) => step.status === "waiting");
  const actions = html`${!ended && html`<button type="button" class="button button--danger" onClick=${() => cancelRun(run, take)} disabled=${run.status === "cancelling"}><${Icon} name="stop" size=${15} />${RUN.cancel}</button>`}
    ${ended && html`<${ActionButton} icon="retry" run=${() => retryRun(run)}>${run.status === "succeeded" ? RUN.again : RUN.retry}<//>`}
    <button type="button" class="button" onClick=${() => print()}>${RUN.print}</button>`;
  const note = html`<span class="row"><${Status} state=${run.status} /><span>${nameOfKind(run.kind)} · <${Time} at=${run.started_at ?? run.scheduled_for ?? run.queued_at} /> · <span class="numbers">${ended ? duration(run.duration_ms) : html`<${Duration} since=${run.started_at} />`}</span></span></span>`;
  return html`<div class="run"><${PageHead} title=${html`<${Subject} run=${run} />`} note=${note} back=${{ href: "#/runs", label: RUNS.title }} actions=${actions} />
    ${waiting.map((step) => html`<${Waiting} key=${step.name} run=${run} step=${step.name} message=${step.message} take=${take} />`)}
    ${run.status === "waiting" && !waiting.length && html`<${Waiting} run=${run} step="" message=${null} take=${take} />`}
    <${Reason} run=${run} />
    <${Facts} run=${run} />
    <${Part} run=${run} />
    ${(run.hosts ?? []).length > 0 && html`<${Hosts} hosts=${run.hosts} />`}
    <${Output} run=${run} key=${run.id} />
    <${Definition} run=${run} />
    <${Deliveries} run=${run} /></div>`;
}

/** @param {{run: Run}} props */
function Subject({ run }) {
  const address = addressOfSubject(run);
  return address ? html`<a href=${address} dir="auto">${run.subject_name}</a>` : html`<span dir="auto">${run.subject_name}</span>`;
}

/** @param {{run: Run, step: string, message: string | null, take: (run: Run) => void}} props */
function Waiting({ run, step, message, take }) {
  const decide = (/** @type {boolean} */ approved) => import("../parts/decide.js").then((part) => part.decide(run.id, step, approved, take)).catch(toast.problem);
  return html`<section class="run__ask" aria-label=${RUN.waits(step || run.subject_name)}>
    <p class="run__asked">${message && html`<strong dir="auto">${message}</strong>`}<span class="muted" dir="auto">${RUN.waits(step || run.subject_name)}</span></p>
    <div class="row"><button type="button" class="button button--primary" onClick=${() => decide(true)}>${RUN.approve}</button>
      <button type="button" class="button" onClick=${() => decide(false)}>${RUN.reject}</button></div></section>`;
}

/** @param {{run: Run}} props */
function Reason({ run }) {
  const reason = run.reason ?? run.error?.message;
  if (!reason) return null;
  const bad = ["failed", "timed_out", "interrupted"].includes(run.status);
  return html`<p class=${`notice notice--${bad ? "bad" : "warn"}`} dir="auto"><${Said} text=${reason} /></p>`;
}

/** @param {{run: Run}} props */
function Facts({ run }) {
  const time = (/** @type {string | null} */ at) => at && html`<time class="time" datetime=${at}>${absolute(at)}</time>`;
  const params = Object.entries(run.params ?? {}).filter(([, value]) => value !== "" && value !== null);
  /** @type {[string, unknown][]} */
  const facts = [
    [RUN.because, causeOf(run)],
    [RUN.scheduled, time(run.scheduled_for)],
    [RUN.started, time(run.started_at) ?? (run.queued_at && html`${RUN.queued} ${time(run.queued_at)}`)],
    [RUN.finished, time(run.finished_at)],
    [RUN.took, run.finished_at && duration(run.duration_ms)],
    [RUN.delay, run.delay_ms ? duration(run.delay_ms) : null],
    [RUN.exit, run.exit_code],
    [RUN.signal, run.signal],
    [RUN.attempt, run.max_attempts > 1 ? `${run.attempt} ${RUN.of} ${run.max_attempts}` : null],
    [RUN.retryOf, run.retry_of && html`<a href=${link("runs", run.retry_of)}>${run.retry_of.slice(0, 8)}</a>`],
    [RUN.parent, run.parent_run_id && html`<a href=${link("runs", run.parent_run_id)}>${run.parent_run_id.slice(0, 8)}</a>`],
    [RUN.dry, run.dry_run ? RUN.yes : null],
    [RUN.params, params.length ? html`<code class="wraps" dir="auto">${params.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n")}</code>` : null],
    [RUN.env, run.env_keys.join(", ")],
    [RUN.id, html`<span class="run__id"><code>${run.id}</code><${CopyButton} text=${run.id} /></span>`],
  ];
  const told = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<section class="panel" aria-label=${RUN.facts}><div class="panel__body run__facts"><dl class="facts">${told.map(([label, value]) => html`<div><dt>${label}</dt><dd dir="auto">${value}</dd></div>`)}</dl></div></section>`;
}

/** The details of its feature. @param {{run: Run}} props */
function Part({ run }) {
  const module = MANIFEST.run_kinds[run.kind]?.part;
  return module ? html`<${Later} load=${() => import(`../${module}.js`).then((part) => part.RunPart)} props=${{ run }} />` : null;
}

/** @param {{run: Run}} props */
function Output({ run }) {
  const log = useRunLog(run.id, { lines: run.output.lines, failed: (error) => toast.problem(error) });
  const paper = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const fill = () => {
      if (paper.current && log.lines.length) paper.current.textContent = printed(log);
    };
    addEventListener("beforeprint", fill);
    return () => removeEventListener("beforeprint", fill);
  }, [log]);
  return html`<div><${LogView} log=${log} name=${`${run.subject_name}-${run.id}.log`} running=${!run.finished_at} height=${(run.finished_at || run.status === "waiting") && run.output.lines <= FEW_LINES ? "short" : "page"} />
    <pre class="run__print" ref=${paper}>${run.output.tail}</pre></div>`;
}

/** The definition at the time when the run began. @param {{run: Run}} props */
function Definition({ run }) {
  if (!run.definition) return null;
  const { yaml } = run.definition;
  return html`<details><summary>${RUN.definition}</summary><${CodeView} text=${typeof yaml === "string" ? yaml : JSON.stringify(run.definition, null, 2)} label=${RUN.definition} /></details>`;
}

/** Return the lines for printing: all of them, or the last of many. @param {import("../lib/log.js").Log} log */
function printed(log) {
  const lines = log.lines.slice(-MOST_PRINTED).map((line) => plainText(line.text));
  const left = log.lines.length - lines.length;
  return [...(left ? [RUN.notPrinted(left)] : []), ...lines].join("\n");
}
