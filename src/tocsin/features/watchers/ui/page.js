// Watchers: rules that act when files change, and their state.
import { html } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { number } from "tocsin/lib/format.js";
import { nextPage } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { link } from "tocsin/lib/router.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { WATCHERS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").WatcherRule} Rule */
/** @typedef {import("tocsin/types/records.js").List<Rule>} Rules */

const PATH = "/api/watchers/rules";

export const page = definePage({
  title: WATCHERS.title,
  /** @returns {Promise<Rules>} */
  load: ({ signal }) => api.get(PATH, {}, { signal }),
  View: Watchers,
  events: "run.updated status.changed",
});

/** @param {import("tocsin/lib/page.js").PageProps<Rules>} props */
function Watchers({ data, query, change }) {
  const empty = html`<${Empty} icon="watchers" text=${WATCHERS.empty} example=${WATCHERS.example} command=${WATCHERS.command} />`;
  return html`<${PageHead} title=${WATCHERS.title} note=${WATCHERS.note} />
    ${data.items.length > 5 && html`<${Toolbar}><${FilterBox} value=${query.q} /><//>`}
    <${Table} label=${WATCHERS.title} rows=${data.items} columns=${COLUMNS} rowKey=${(/** @type {Rule} */ rule) => rule.name} filter=${query.q}
      href=${(/** @type {Rule} */ rule) => link("watchers", rule.name)} empty=${empty} more=${nextPage(data, change, PATH)} />
    <${FileNote} file="watchers.yaml" doc="watchers.html#rules" />`;
}

/** @type {import("tocsin/parts/table.js").Column<Rule>[]} */
const COLUMNS = [
  { name: "state", title: WATCHERS.state, value: (rule) => rule.state, cell: (rule) => html`<${Status} state=${rule.state} title=${rule.error ?? undefined} />` },
  { name: "name", title: WATCHERS.name, primary: true, value: (rule) => rule.name },
  { name: "path", title: WATCHERS.path, value: (rule) => rule.path, cell: (rule) => html`<code class="wraps">${rule.path}</code>` },
  { name: "action", title: WATCHERS.action, value: (rule) => `${rule.action} ${rule.command}`, cell: (rule) => html`${rule.action} <code class="wraps">${rule.command}</code>` },
  { name: "events", title: WATCHERS.events24, value: (rule) => rule.events_24h, cell: (rule) => number(rule.events_24h), align: "end" },
  { name: "last", title: WATCHERS.last, value: (rule) => rule.last_event?.at, cell: (rule) => html`<${Time} at=${rule.last_event?.at} />` },
  {
    name: "run",
    title: WATCHERS.lastRun,
    value: (rule) => rule.last_run?.status,
    cell: (rule) => (rule.last_run ? html`<a href=${link("runs", rule.last_run.id)}><${Status} state=${rule.last_run.status} quiet /></a>` : html`<${Time} at=${null} />`),
  },
];
