// One job: its state, its branch with commits and changes, and its output.
import { html } from "tocsin/vendor/preact.js";
import { api, ApiProblem, url } from "tocsin/lib/api.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { useRunLog } from "tocsin/lib/run_log.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Icon } from "tocsin/parts/icon.js";
import { LogView } from "tocsin/parts/log_view.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Failure } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { deleteJob, endJob, startJob } from "./actions.js";
import { BranchPanel, Patch } from "./branch.js";
import { JOBS, JOB_END, JOB_PAGE } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").TaskJob} TaskJob */
/** @typedef {import("tocsin/types/records.js").Branch} Branch */
/** @typedef {{job: TaskJob, branch: Branch | null, problem: unknown}} Data */

export const page = definePage({
  title: ({ data }) => data?.job.title ?? JOB_PAGE.job,
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const job = /** @type {TaskJob} */ (await api.get(url`/api/jobs/${params.id}`, {}, { signal }));
    if (!job.branch) return { job, branch: null, problem: null };
    try {
      return { job, branch: await api.get(url`/api/jobs/branches/${job.id}`, {}, { signal }), problem: null };
    } catch (problem) {
      if (!(problem instanceof ApiProblem)) throw problem; // the page was left
      return { job, branch: null, problem }; // the branch was deleted: still show the job
    }
  },
  View: One,
  events: "job.* branch.updated",
  onEvent: (data, { data: record }) => ([record.id, record.job_id].includes(data.job.id) ? undefined : data),
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function One({ data, reload }) {
  const { job, branch, problem } = data;
  const back = { href: "#/jobs", label: JOBS.back };
  const tabs = [
    {
      name: "branch", label: JOB_PAGE.branch,
      view: () => (branch ? html`<${BranchPanel} branch=${branch} />` : problem ? html`<${Failure} error=${problem} compact />` : html`<p class="muted">${JOB_PAGE.noBranch}</p>`),
    },
    ...(branch ? [{ name: "patch", label: JOB_PAGE.patch, count: branch.diffstat?.files, view: () => html`<${Patch} id=${job.id} head=${branch.head_sha} />` }] : []),
    { name: "log", label: JOB_PAGE.log, view: () => html`<${Output} job=${job} />` },
  ];
  return html`<${PageHead} title=${job.title} back=${back} note=${html`<${Status} state=${job.status} />`} actions=${html`<${Actions} job=${job} branch=${branch} reload=${reload} />`} />
    ${job.error && html`<p class="notice notice--bad" role="alert" dir="auto">${/** @type {any} */ (job.error).message}</p>`}
    ${job.description && html`<section class="panel panel__body wraps" dir="auto" aria-label=${JOB_PAGE.description}>${job.description}</section>`}
    <dl class="facts panel panel__body">
      ${fact(JOB_PAGE.created, html`<${Time} at=${job.created_at} /> ${job.created_by && JOB_PAGE.by(job.created_by)}`)}
      ${job.started_at && fact(JOB_PAGE.started, html`<${Time} at=${job.started_at} />`)}
      ${job.completed_at && fact(JOB_PAGE.ended, html`<${Time} at=${job.completed_at} />`)}
      ${fact(JOBS.priority, JOBS.priorities[job.priority])}
      ${job.labels.length > 0 && fact(JOB_PAGE.labels, job.labels.join(", "))}
      ${job.repo && fact(JOB_PAGE.repo, html`<code class="wraps">${job.repo}</code>`)}
      ${job.repo && fact(JOB_PAGE.tree, job.worktree_path ? html`<code class="wraps">${job.worktree_path}</code>` : JOB_PAGE.noTree)}
      ${job.progress !== null && fact(JOB_PAGE.progress, html`<progress max="1" value=${job.progress} aria-label=${JOB_PAGE.progress}></progress> ${Math.round(job.progress * 100)} %`)}
      ${job.result && fact(JOB_PAGE.result, job.result.summary || html`<${Status} state=${job.result.outcome} quiet />`)}
    </dl>
    <${Tabs} label=${job.title} tabs=${job.branch ? tabs : tabs.slice(-1)} />`;
}

/** @param {{job: TaskJob, branch: Branch | null, reload: () => Promise<void>}} props */
function Actions({ job, branch, reload }) {
  const take = () => void reload(); // its branch may have changed as well
  return html`${job.status === "queued" && html`<${ActionButton} kind="primary" icon="play" run=${() => startJob(job, take)}>${JOBS.start}<//>`}
    ${(job.status === "queued" || job.status === "running") && html`<button type="button" class="button" onClick=${() => endJob(job, take)}>${job.status === "queued" ? JOB_END.cancelAction : JOBS.complete}</button>`}
    ${job.status !== "running" && html`<button type="button" class="button" onClick=${() => deleteJob(job, branch, () => go("#/jobs"))}><${Icon} name="trash" size=${16} />${JOBS.delete}</button>`}`;
}

/** @param {{job: TaskJob}} props */
function Output({ job }) {
  if (!job.run_id) return html`<p class="muted">${JOB_PAGE.noLog}</p>`;
  return html`<p><a href=${link("runs", job.run_id)}>${JOB_PAGE.run}</a></p><${RunOutput} key=${job.run_id} job=${job} id=${job.run_id} />`;
}

/** @param {{job: TaskJob, id: string}} props */
function RunOutput({ job, id }) {
  const log = useRunLog(id, { failed: (error) => toast.problem(error) });
  return html`<${LogView} log=${log} name=${`${id}.log`} running=${job.status === "running"} height="short" />`;
}
