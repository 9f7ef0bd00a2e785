// What can be done with a job: run it, switch it on and off, pause and delete it.
import { html, render, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { go, link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Dialog } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { CRON, JOB, RUN_JOB } from "../strings/cron.js";
import { DIALOG, PARTS } from "../strings/states.js";

/** @typedef {import("../types/records.js").CronJob} CronJob */
/** @typedef {(job: CronJob) => void} Take  Shows what the server answered. */

const SHOWN_RUNS = 30;

/** Start a job; one that has parameters asks for them. @param {CronJob} job */
export async function runJob(job) {
  if (Object.keys(job.params ?? {}).length) return openDialog((close) => html`<${RunDialog} job=${job} close=${close} />`);
  return started(await api.post(url`/api/cron/jobs/${job.id}/run`, {}));
}

/** @param {CronJob} job */
export function runJobWith(job) {
  openDialog((close) => html`<${RunDialog} job=${job} close=${close} />`);
}

/** @param {CronJob} job @param {Take} take */
export function pauseJob(job, take) {
  openDialog((close) => html`<${PauseDialog} job=${job} take=${take} close=${close} />`);
}

/**
 * @param {CronJob} job
 * @param {boolean} on
 * @param {Take} take
 */
export async function switchJob(job, on, take) {
  const turn = async (/** @type {boolean} */ wanted) =>
    take(await api.post(wanted ? url`/api/cron/jobs/${job.id}/enable` : url`/api/cron/jobs/${job.id}/disable`));
  await turn(on);
  toast.undo(on ? CRON.enabled(job.name) : CRON.disabled(job.name), () => turn(!on));
}

/** @param {CronJob} job */
export function deleteJob(job) {
  openDialog((close) => html`<${DeleteDialog} job=${job} close=${close} />`);
}

/** @param {import("../types/records.js").Run} run */
function started(run) {
  toast.ok(CRON.started(run.subject_name), { label: CRON.show, run: () => go(link("runs", run.id)) });
}

/** @param {(close: () => void) => import("../vendor/preact.js").Child} draw */
export function openDialog(draw) {
  const host = document.createElement("div");
  document.body.append(host);
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(draw(close), host);
}

/** @param {{job: CronJob, close: () => void}} props */
function RunDialog({ job, close }) {
  const [planned, setPlanned] = useState(/** @type {any} */ (null));
  /** @param {Record<string, any>} wish */
  const submit = async (wish) => {
    setPlanned(null);
    const run = await api.post(url`/api/cron/jobs/${job.id}/run`, wish);
    if (wish.dry_run) return setPlanned(run);
    started(run);
    return close();
  };
  return html`<${Dialog} title=${RUN_JOB.title(job.name)} close=${close}>
    <p class="muted">${RUN_JOB.text}</p>
    <${Form} label=${RUN_JOB.title(job.name)} submitLabel=${CRON.run} cancel=${close} submit=${submit}
      fields=${[
        { name: "params", label: RUN_JOB.params, type: "map" },
        { name: "force", label: RUN_JOB.force, type: "check" },
        { name: "dry_run", label: RUN_JOB.check, type: "check" },
      ]} values=${{ params: job.params ?? {}, force: false, dry_run: false }} />
    ${planned && html`<div role="status" class="notice notice--info"><span>${RUN_JOB.would}</span>
      <code dir="auto">${job.command}</code><code dir="auto">${JSON.stringify(planned.params)}</code></div>`}
  <//>`;
}

/** @param {{job: CronJob, take: Take, close: () => void}} props */
function PauseDialog({ job, take, close }) {
  /** @param {Record<string, any>} wish */
  const submit = async ({ reason, until, cancel_running }) => {
    take(await api.post(url`/api/cron/jobs/${job.id}/disable`, { reason: reason ?? "", until: until || null, cancel_running }));
    toast.undo(CRON.disabled(job.name), async () => take(await api.post(url`/api/cron/jobs/${job.id}/enable`)));
    close();
  };
  return html`<${Dialog} title=${JOB.pauseTitle(job.name)} close=${close}>
    <${Form} label=${JOB.pauseTitle(job.name)} submitLabel=${CRON.pauseShort} cancel=${close} submit=${submit}
      fields=${[
        { name: "until", label: JOB.until, type: "time", hint: JOB.untilHint, focus: true },
        { name: "reason", label: JOB.why },
        { name: "cancel_running", label: JOB.cancelRunning, type: "check" },
      ]} values=${{ until: null, reason: "", cancel_running: false }} />
  <//>`;
}

/** @param {{job: CronJob, close: () => void}} props */
function DeleteDialog({ job, close }) {
  const [keep, setKeep] = useState(true);
  const [typed, setTyped] = useState("");
  const remove = async () => {
    const path = url`/api/cron/jobs/${job.id}`;
    await api.remove(path, { query: { keep_history: keep }, ifMatch: api.etagOf(path) });
    close();
    toast.ok(JOB.deleted(job.name));
    go("#/cron");
  };
  const foot = html`<button type="button" class="button" autofocus onClick=${close}>${PARTS.cancel}</button>
    <${ActionButton} kind="danger" run=${remove} disabled=${!keep && typed !== job.name}>${CRON.delete}<//>`;
  return html`<${Dialog} title=${JOB.deleteTitle(job.name)} close=${close} foot=${foot}>
    <p>${keep ? JOB.deleteText : JOB.deleteAllText}</p>
    <label class="check"><input type="checkbox" checked=${keep} onChange=${(/** @type {any} */ event) => setKeep(event.currentTarget.checked)} /> ${JOB.keepHistory}</label>
    ${!keep && html`<label class="field"><span class="field__label">${DIALOG.typeName} <code dir="auto">${job.name}</code></span>
      <input class="input" value=${typed} autocomplete="off" spellcheck=${false} onInput=${(/** @type {any} */ event) => setTyped(event.currentTarget.value)} /></label>`}
  <//>`;
}
/** The job with what its newest run came to. @param {CronJob} job @param {import("../types/records.js").Run} run @returns {CronJob} */
export function jobWithRun(job, run) {
  const ended = run.finished_at !== null;
  const known = job.recent.some(({ id }) => id === run.id);
  const brief = { id: run.id, status: run.status, started_at: run.started_at, duration_ms: run.duration_ms };
  const recent = !run.started_at ? job.recent : known ? job.recent.map((one) => (one.id === run.id ? brief : one)) : [brief, ...job.recent];
  const state = run.started_at && !ended ? "running" : job.state === "running" ? "scheduled" : job.state;
  const newer = !job.last_run || run.id >= job.last_run.id;
  return { ...job, recent: recent.slice(0, SHOWN_RUNS), ...(newer && { last_run: run, state: /** @type {CronJob["state"]} */ (state) }) };
}

/** How a job stands: one that waits for its next time after a failure is not just scheduled. @param {CronJob} job */
export function standing(job) {
  const bad = ["failed", "timed_out", "interrupted", "partially_succeeded"].includes(job.last_run?.status ?? "");
  return bad && job.state === "scheduled" ? "failing" : job.state;
}

/** Whether a schedule is due after each start of the machine, which has no time to show. @param {string | null} schedule */
export const isAtStart = (schedule) => /^(@reboot|at:?\s+start)$/i.test((schedule ?? "").trim());

/** What stands in the place of the next time. @param {CronJob} job */
export const withoutTime = (job) => (job.state === "scheduled" && isAtStart(job.schedule) ? CRON.atStart : CRON.noNext);
