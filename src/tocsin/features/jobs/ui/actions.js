// The actions of a job: create, start, end and delete it.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Dialog, TypedName, openDialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { Failure } from "tocsin/parts/states.js";
import { wordOf } from "tocsin/parts/status.js";
import { toast } from "tocsin/parts/toast.js";
import { JOBS, JOB_DELETE, JOB_END, JOB_FORM } from "./strings.js";
import { PARTS } from "tocsin/strings/states.js";

/** @typedef {import("tocsin/types/records.js").TaskJob} TaskJob */
/** @typedef {import("tocsin/types/records.js").Branch} Branch */
/** @typedef {(job: TaskJob) => void} Take  Shows what the server answered. */

/** @param {TaskJob} job @param {Take} take */
export async function startJob(job, take) {
  take(await api.post(url`/api/jobs/${job.id}/start`));
  toast.ok(JOBS.started(job.title));
}

/** @param {TaskJob[]} known @param {Take} made */
export function newJob(known, made) {
  const repos = [...new Set(known.map((job) => job.repo ?? "").filter(Boolean))];
  openDialog((close) => html`<${NewDialog} repos=${repos} made=${made} close=${close} />`);
}

/** @param {TaskJob} job @param {Take} take */
export function endJob(job, take) {
  openDialog((close) => html`<${EndDialog} job=${job} take=${take} close=${close} />`);
}

/** @param {TaskJob} job @param {Branch | null} branch @param {() => void} gone */
export function deleteJob(job, branch, gone) {
  openDialog((close) => html`<${DeleteDialog} job=${job} branch=${branch} gone=${gone} close=${close} />`);
}

/** @param {{repos: string[], made: Take, close: () => void}} props */
function NewDialog({ repos, made, close }) {
  const inRepo = (/** @type {Record<string, any>} */ values) => Boolean(values.repo);
  /** @param {Record<string, any>} wish */
  const submit = async ({ work, ...wish }) => {
    const given = Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== null && value !== undefined && value !== ""));
    const job = await api.post("/api/jobs", given);
    close();
    toast.ok(JOBS.made(job.title));
    made(job);
  };
  return html`<${Dialog} title=${JOB_FORM.title} close=${close} wide>
    <${Form} label=${JOB_FORM.title} submitLabel=${JOB_FORM.save} cancel=${close} draft="job" submit=${submit}
      values=${{ title: "", description: "", work: "", priority: "normal", labels: [], create_branch: true }}
      fields=${[
        { name: "title", label: JOB_FORM.name, required: true, focus: true, wide: true },
        { name: "description", label: JOB_FORM.description, type: "area" },
        { name: "work", label: JOB_FORM.what, type: "select", options: JOB_FORM.works, required: false },
        { name: "priority", label: JOB_FORM.priority, type: "select", options: Object.entries(JOBS.priorities) },
        { name: "command", label: JOB_FORM.command, type: "code", required: true, hint: JOB_FORM.commandHint, when: (/** @type {any} */ values) => values.work === "command" },
        { name: "skill", label: JOB_FORM.skill, required: true, when: (/** @type {any} */ values) => values.work === "skill" },
        { name: "repo", label: JOB_FORM.repo, hint: JOB_FORM.repoHint, suggestions: repos },
        { name: "labels", label: JOB_FORM.labels, type: "list" },
        { name: "base_branch", label: JOB_FORM.base, hint: JOB_FORM.baseHint, when: inRepo },
        { name: "branch", label: JOB_FORM.branch, hint: JOB_FORM.branchHint, when: inRepo },
        { name: "create_branch", label: JOB_FORM.create, type: "check", when: inRepo },
      ]} /><//>`;
}

/** @param {{job: TaskJob, take: Take, close: () => void}} props */
function EndDialog({ job, take, close }) {
  const waits = job.status === "queued"; // a queued job can only be cancelled
  const title = waits ? JOB_END.cancelTitle(job.title) : JOB_END.title(job.title);
  /** @param {Record<string, any>} wish */
  const submit = async (wish) => {
    const ended = await api.post(url`/api/jobs/${job.id}/complete`, { ...wish, summary: wish.summary ?? "", outcome: waits ? "cancelled" : wish.outcome });
    take(ended);
    toast.ok(JOBS.ended(job.title, wordOf(ended.status)));
    close();
  };
  const summary = { name: "summary", label: JOB_END.summary, type: "area" };
  const fields = waits ? [summary] : [
    { name: "outcome", label: JOB_END.outcome, type: "select", options: JOB_END.outcomes, required: true, focus: true },
    { name: "exit_code", label: JOB_END.code, type: "number", min: 0, max: 255, step: 1 },
    summary,
  ];
  return html`<${Dialog} title=${title} close=${close}>
    <p class="muted">${waits ? JOB_END.cancelText : job.run_id && JOB_END.running}</p>
    <${Form} label=${title} submitLabel=${waits ? JOB_END.cancelAction : JOB_END.save} cancel=${close} submit=${submit} fields=${fields}
      values=${waits ? { summary: "" } : { outcome: "completed", summary: "", exit_code: null }} /><//>`;
}

/** @param {{job: TaskJob, branch: Branch | null, gone: () => void, close: () => void}} props */
function DeleteDialog({ job, branch, gone, close }) {
  const [withBranch, setWithBranch] = useState(false);
  const [force, setForce] = useState(false);
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const unmerged = branch && !branch.merged ? (branch.ahead ?? 0) : 0;
  const loses = (withBranch && unmerged > 0) || Boolean(branch?.dirty);
  const remove = async () => {
    setError(null);
    const path = url`/api/jobs/${job.id}`;
    try {
      await api.remove(path, { query: { delete_branch: withBranch || undefined, force: force || undefined }, ifMatch: api.etagOf(path) });
    } catch (problem) {
      return setError(problem);
    }
    close();
    toast.ok(JOBS.deleted(job.title));
    return gone();
  };
  const check = (/** @type {string} */ label, /** @type {boolean} */ on, /** @type {(on: boolean) => void} */ set) =>
    html`<label class="check"><input type="checkbox" checked=${on} onChange=${(/** @type {any} */ event) => set(event.currentTarget.checked)} /> <span dir="auto">${label}</span></label>`;
  const foot = html`<button type="button" class="button" autofocus onClick=${close}>${PARTS.cancel}</button>
    <${ActionButton} kind="danger" run=${remove} disabled=${force && typed !== job.title}>${JOB_DELETE.action}<//>`;
  return html`<${Dialog} title=${JOB_DELETE.title(job.title)} close=${close} foot=${foot}>
    <p>${JOB_DELETE.text}</p>
    ${branch && html`<ul class="losses">${unmerged > 0 && html`<li>${JOB_DELETE.unmerged(unmerged, branch.base)}</li>`}${branch.dirty && html`<li>${JOB_DELETE.dirty}</li>`}
      ${!unmerged && !branch.dirty && html`<li>${JOB_DELETE.clean}</li>`}</ul>`}
    ${job.branch && check(JOB_DELETE.branch(job.branch), withBranch, setWithBranch)}
    ${(loses || Boolean(error)) && check(JOB_DELETE.force, force, setForce)}
    ${force && html`<${TypedName} name=${job.title} typed=${typed} type=${setTyped} />`}
    ${error && html`<${Failure} error=${error} compact />`}<//>`;
}
