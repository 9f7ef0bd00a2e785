// The actions of a job: run it, enable and disable it, pause and delete it.
import { api, url } from "tocsin/lib/api.js";
import { go, link } from "tocsin/lib/router.js";
import { toast } from "tocsin/parts/toast.js";
import { CRON } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").CronJob} CronJob */
/** @typedef {(job: CronJob) => void} Take  Shows what the server answered. */

const SHOWN_RUNS = 30;
/** Loaded on demand: few visits need them. */
const dialogs = () => import("./dialogs.js");

/** Start a job and open its run; ask for parameters first, if it has any. @param {CronJob} job */
export async function runJob(job) {
  if (Object.keys(job.params ?? {}).length) return runJobWith(job);
  const run = await api.post(url`/api/cron/jobs/${job.id}/run`, {});
  return go(link("runs", run.id));
}

/** @param {CronJob} job */
export async function runJobWith(job) {
  (await dialogs()).askAndRun(job);
}

/** @param {CronJob} job @param {Take} take */
export async function pauseJob(job, take) {
  (await dialogs()).askAndPause(job, take);
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
export async function deleteJob(job) {
  (await dialogs()).askAndDelete(job);
}

/** Return the job with the result of its newest run. @param {CronJob} job @param {import("tocsin/types/records.js").Run} run @returns {CronJob} */
export function jobWithRun(job, run) {
  const ended = run.finished_at !== null;
  const known = job.recent.some(({ id }) => id === run.id);
  const brief = { id: run.id, status: run.status, started_at: run.started_at, duration_ms: run.duration_ms };
  const recent = !run.started_at ? job.recent : known ? job.recent.map((one) => (one.id === run.id ? brief : one)) : [brief, ...job.recent];
  const state = run.started_at && !ended ? "running" : job.state === "running" ? "scheduled" : job.state;
  const newer = !job.last_run || run.id >= job.last_run.id;
  return { ...job, recent: recent.slice(0, SHOWN_RUNS), ...(newer && { last_run: run, state: /** @type {CronJob["state"]} */ (state) }) };
}

/** Return the displayed state of a job: after a failure, a waiting job is not merely scheduled. @param {CronJob} job */
export function standing(job) {
  const bad = ["failed", "timed_out", "interrupted", "partially_succeeded"].includes(job.last_run?.status ?? "");
  return bad && job.state === "scheduled" ? "failing" : job.state;
}

/** Return true if a schedule runs at each start of the machine, so that it has no next time. @param {string | null} schedule */
export const isAtStart = (schedule) => /^(@reboot|at:?\s+start)$/i.test((schedule ?? "").trim());

/** Return the text shown instead of the next time. @param {CronJob} job */
export const withoutTime = (job) => (job.state === "scheduled" && isAtStart(job.schedule) ? CRON.atStart : CRON.noNext);
