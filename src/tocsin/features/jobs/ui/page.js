// Jobs: tasks with a state, as a list and as a board, and their branches.
import { html, useState } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage, withRecord, withoutRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { About, ActionButton } from "tocsin/parts/action.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status, wordOf } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { endJob, newJob, startJob } from "./actions.js";
import { Distance } from "./branch.js";
import { JOBS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").TaskJob} TaskJob */
/** @typedef {import("tocsin/types/records.js").List<TaskJob>} Jobs */

const PATH = "/api/jobs";
const STATES = ["queued", "running", "completed", "failed", "cancelled"];
const ON_BOARD = 50;

export const page = definePage({
  title: JOBS.title,
  /** @returns {Promise<Jobs>} */
  load: ({ signal }) => api.get(PATH, { limit: 200 }, { signal }),
  View: View,
  events: "job.* branch.updated",
  onEvent: changedBy,
});

/** @param {Jobs} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: record }) {
  if (type === "job.deleted") return withoutRecord(data, record.id, "id");
  if (type === "branch.updated") {
    const { ahead, behind, diffstat } = record;
    return { ...data, items: data.items.map((job) => (job.id === record.job_id ? { ...job, ahead, behind, diffstat } : job)) };
  }
  return record.title === undefined ? undefined : withRecord(data, record, "id");
}

/** @param {import("tocsin/lib/page.js").PageProps<Jobs>} props */
function View(props) {
  const { data, query, change } = props;
  const [filter, setFilter] = useState(query.q ?? "");
  const create = () => newJob(data.items, (job) => go(link("jobs", job.id)));
  useKeys([{ keys: "n", label: JOBS.new, run: create }]);
  const button = html`<button type="button" class="button button--primary" onClick=${create}><${Icon} name="plus" />${JOBS.new}</button>`;
  if (!data.items.length) {
    return html`<${PageHead} title=${JOBS.title} note=${JOBS.note} /><${Empty} icon="jobs" text=${JOBS.empty} action=${button} command=${JOBS.command} />`;
  }
  const labels = [...new Set(data.items.flatMap((job) => job.labels))].sort();
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = data.items.filter((job) => (!query.label || job.labels.includes(query.label)) && (!query.state || job.status === query.state)
    && words.every((word) => `${job.title}\n${job.branch}\n${job.description}\n${job.labels.join(" ")}`.toLowerCase().includes(word)));
  const take = (/** @type {TaskJob} */ job) => change((now) => withRecord(now, job, "id"));
  return html`<${PageHead} title=${JOBS.title} note=${JOBS.note} actions=${button} />
    <${Toolbar}><${FilterBox} value=${query.q} onText=${setFilter} />
      <${Choice} name="state" label=${JOBS.state} value=${query.state} options=${[["", JOBS.anyState], ...STATES.map((state) => [state, wordOf(state)])]} />
      ${labels.length > 0 && html`<${Choice} name="label" label=${JOBS.label} value=${query.label} options=${[["", JOBS.anyLabel], ...labels.map((label) => [label, label])]} />`}<//>
    <${Tabs} label=${JOBS.title} param="view" tabs=${[
      { name: "list", label: JOBS.list, view: () => html`<${JobTable} rows=${rows} take=${take} more=${nextPage(data, change, PATH, { limit: 200 })} />` },
      { name: "board", label: JOBS.board, view: () => html`<${Board} rows=${rows} take=${take} />` },
    ]} />`;
}

/** @param {{rows: TaskJob[], take: (job: TaskJob) => void, more: (() => Promise<void>) | undefined}} props */
function JobTable({ rows, take, more }) {
  /** @type {import("tocsin/parts/table.js").Column<TaskJob>[]} */
  const columns = [
    { name: "state", title: JOBS.state, value: (job) => job.status, cell: (job) => html`<${Status} state=${job.status} />` },
    { name: "title", title: JOBS.name, primary: true, value: (job) => job.title },
    { name: "labels", title: JOBS.label, value: (job) => job.labels.join(", "), cell: (job) => html`<${Labels} job=${job} />` },
    { name: "branch", title: JOBS.branch, value: (job) => job.branch, cell: (job) => (job.branch ? html`<code class="wraps">${job.branch}</code>` : "–") },
    { name: "change", title: JOBS.change, value: (job) => job.ahead, cell: (job) => html`<${Distance} of=${job} />` },
    { name: "created", title: JOBS.created, value: (job) => job.created_at, cell: (job) => html`<${Time} at=${job.created_at} />` },
    { name: "actions", title: "", bare: true, cell: (job) => html`<${Next} job=${job} take=${take} />` },
  ];
  return html`<${Table} label=${JOBS.title} rows=${rows} columns=${columns} rowKey=${(/** @type {TaskJob} */ job) => job.id} remember="jobs"
    href=${(/** @type {TaskJob} */ job) => link("jobs", job.id)} more=${more} />`;
}

/** The next step of a job. @param {{job: TaskJob, take: (job: TaskJob) => void}} props */
function Next({ job, take }) {
  if (job.status === "queued") return html`<${ActionButton} small icon="play" about=${job.title} run=${() => startJob(job, take)}>${JOBS.start}<//>`;
  if (job.status !== "running") return null;
  return html`<button type="button" class="button button--small" onClick=${() => endJob(job, take)}>${JOBS.complete}<${About} name=${job.title} /></button>`;
}

/** @param {{rows: TaskJob[], take: (job: TaskJob) => void}} props */
function Board({ rows, take }) {
  return html`<div class="board">${STATES.map((state) => {
    const here = rows.filter((job) => job.status === state);
    return html`<section class="board__column" key=${state} aria-label=${wordOf(state)}>
      <h2 class="board__head"><${Status} state=${state} quiet /> <span class="badge">${here.length}</span></h2>
      ${!here.length && html`<p class="muted">${JOBS.none}</p>`}
      <ul>${here.slice(0, ON_BOARD).map((job) => html`<li class="panel board__card" key=${job.id}>
        <a href=${link("jobs", job.id)} dir="auto">${job.title}</a>
        ${(job.labels.length > 0 || job.priority !== "normal") && html`<${Labels} job=${job} />`}
        ${job.branch && html`<code class="wraps">${job.branch}</code>`}
        ${job.branch && html`<${Distance} of=${job} />`}
        <div class="board__foot"><span class="muted"><${Time} at=${job.completed_at ?? job.started_at ?? job.created_at} /></span><${Next} job=${job} take=${take} /></div></li>`)}</ul>
    </section>`;
  })}</div>`;
}

/** @param {{job: TaskJob}} props */
function Labels({ job }) {
  if (!job.labels.length && job.priority === "normal") return "–";
  return html`<span class="labels">${job.priority !== "normal" && html`<span class=${`badge board__${job.priority}`}>${JOBS.priority}: ${JOBS.priorities[job.priority]}</span>`}
    ${job.labels.map((label) => html`<span class="badge" dir="auto">${label}</span>`)}</span>`;
}
