// Heartbeats: the state of jobs that run elsewhere, beside the jobs of Tocsin itself.
import { html } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { barsOf } from "./instants.js";
import { HEARTBEATS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Heartbeat} Heartbeat */
/** @typedef {import("tocsin/types/records.js").ScheduledJob} Job */
/** @typedef {import("tocsin/types/records.js").List<Heartbeat> & {jobs: Job[]}} Heartbeats */

const PATH = "/api/heartbeats";

export const page = definePage({
  title: HEARTBEATS.title,
  reloadOn: ["q", "state"],
  /** @returns {Promise<Heartbeats>} */
  load: async ({ query, signal }) => {
    const [found, jobs] = await Promise.all([api.get(PATH, asked(query), { signal }), api.get("/api/heartbeats/jobs", {}, { signal })]);
    return { ...found, jobs };
  },
  View: List,
  events: "heartbeat.* status.changed",
});

/** @param {Record<string, string | undefined>} query */
function asked(query) {
  return { q: query.q, state: query.state };
}

/** @param {import("tocsin/lib/page.js").PageProps<Heartbeats>} props */
function List({ data, query, change }) {
  const isAsked = Boolean(query.q || query.state);
  const add = html`<a class="button button--primary" href="#/heartbeats/new"><${Icon} name="plus" />${HEARTBEATS.add}</a>`;
  const empty = isAsked ? undefined : html`<${Empty} icon="heartbeats" text=${HEARTBEATS.empty} action=${add} example=${HEARTBEATS.example} command=${HEARTBEATS.command} />`;
  /** @type {(grow: (found: any) => any) => void} */
  const grow = (more) => change((now) => ({ ...more(now), jobs: now.jobs }));
  useKeys([{ keys: "n", label: HEARTBEATS.add, run: () => go("#/heartbeats/new") }]);
  return html`<${PageHead} title=${HEARTBEATS.title} note=${HEARTBEATS.note} actions=${add} />
    ${(data.items.length > 0 || isAsked) && html`<${Toolbar}><${FilterBox} value=${query.q} />
      <${Choice} name="state" label=${HEARTBEATS.state} value=${query.state} options=${[["", HEARTBEATS.anyState], ...HEARTBEATS.states]} /><//>`}
    <${Table} label=${HEARTBEATS.title} rows=${data.items} columns=${COLUMNS} rowKey=${(/** @type {Heartbeat} */ one) => one.id}
      href=${(/** @type {Heartbeat} */ one) => link("heartbeats", one.name)} empty=${empty} more=${nextPage(data, grow, PATH, asked(query))} />
    ${data.jobs.length > 0 && html`<section class="stack" aria-labelledby="own"><h2 id="own">${HEARTBEATS.own}</h2><p class="muted">${HEARTBEATS.ownNote}</p>
      <${Table} label=${HEARTBEATS.own} rows=${data.jobs} columns=${JOB_COLUMNS} rowKey=${(/** @type {Job} */ job) => job.id} href=${(/** @type {Job} */ job) => job.link} remember="own" /></section>`}
    <${FileNote} file="heartbeats.yaml" doc="heartbeats.html#definitions" />`;
}

/** @type {import("tocsin/parts/table.js").Column<Heartbeat>[]} */
const COLUMNS = [
  {
    name: "state",
    title: HEARTBEATS.state,
    value: (one) => one.state,
    cell: (one) => html`<${Status} state=${one.state} title=${one.reason ?? undefined} />${one.running.length > 0 && html` <${Status} state="running" quiet />`}`,
  },
  { name: "name", title: HEARTBEATS.name, primary: true, value: (one) => one.name },
  { name: "expected", title: HEARTBEATS.expected, value: (one) => one.schedule_text },
  { name: "next", title: HEARTBEATS.next, value: (one) => one.next_due_at, cell: (one) => html`<${Time} at=${one.next_due_at} none="–" />` },
  { name: "last", title: HEARTBEATS.last, value: (one) => one.last_ping_at, cell: (one) => html`<${Time} at=${one.last_ping_at} />` },
  { name: "strip", title: HEARTBEATS.strip, value: (one) => one.recent.length, cell: (one) => html`<${HistoryBar} runs=${barsOf(one.recent)} label=${one.name} />`, card: "wide" },
  { name: "uptime", title: HEARTBEATS.uptime, align: "end", value: (one) => one.uptime_30d, cell: (one) => (one.uptime_30d == null ? "–" : `${(100 * one.uptime_30d).toFixed(1)} %`) },
];

/** @type {import("tocsin/parts/table.js").Column<Job>[]} */
const JOB_COLUMNS = [
  { name: "state", title: HEARTBEATS.state, value: (job) => job.state, cell: (job) => html`<${Status} state=${job.state} />` },
  { name: "name", title: HEARTBEATS.name, primary: true, value: (job) => job.name },
  { name: "expected", title: HEARTBEATS.expected, value: (job) => job.schedule_text, hideSmall: true },
  { name: "next", title: HEARTBEATS.nextRun, value: (job) => job.next_run_at, cell: (job) => html`<${Time} at=${job.next_run_at} />` },
  {
    name: "last",
    title: HEARTBEATS.lastRun,
    value: (job) => job.last_run_at,
    cell: (job) => (job.last_status ? html`<${Status} state=${job.last_status} quiet /> <${Time} at=${job.last_run_at} />` : "–"),
  },
];
