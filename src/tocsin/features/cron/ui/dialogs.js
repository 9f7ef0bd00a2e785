// The dialogs before a cron job is run with other values, paused or deleted.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Dialog, TypedName, openDialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { toast } from "tocsin/parts/toast.js";
import { CRON, JOB, RUN_JOB } from "./strings.js";
import { PARTS } from "tocsin/strings/states.js";

/** @typedef {import("tocsin/types/records.js").CronJob} CronJob */
/** @typedef {(job: CronJob) => void} Take  Shows what the server answered. */

/** @param {CronJob} job */
export function askAndRun(job) {
  openDialog((close) => html`<${RunDialog} job=${job} close=${close} />`);
}

/** @param {CronJob} job @param {Take} take */
export function askAndPause(job, take) {
  openDialog((close) => html`<${PauseDialog} job=${job} take=${take} close=${close} />`);
}

/** @param {CronJob} job */
export function askAndDelete(job) {
  openDialog((close) => html`<${DeleteDialog} job=${job} close=${close} />`);
}

/** @param {{job: CronJob, close: () => void}} props */
function RunDialog({ job, close }) {
  const [planned, setPlanned] = useState(/** @type {any} */ (null));
  /** @param {Record<string, any>} wish */
  const submit = async (wish) => {
    setPlanned(null);
    const run = await api.post(url`/api/cron/jobs/${job.id}/run`, wish);
    if (wish.dry_run) return setPlanned(run);
    close();
    return go(link("runs", run.id));
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
    ${!keep && html`<${TypedName} name=${job.name} typed=${typed} type=${setTyped} />`}
  <//>`;
}
