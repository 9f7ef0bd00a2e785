// Folders of backups: the newest file of each, and whether it is fresh.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { About, ActionButton } from "tocsin/parts/action.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { FRESHNESS } from "./strings.js";

/** @typedef {{name: string, hours: number, newest: string, newest_at: string | null, state: string, problem: string, last_run: {id: string, status: string} | null}} Folder */
/** @typedef {import("tocsin/types/records.js").List<Folder>} Folders */

const PATH = "/api/freshness/folders";

export const page = definePage({
  title: FRESHNESS.title,
  /** @returns {Promise<Folders>} */
  load: ({ signal }) => api.get(PATH, {}, { signal }),
  View: Backups,
  events: "run.updated",
});

/** @param {import("tocsin/lib/page.js").PageProps<Folders>} props */
function Backups({ data }) {
  const empty = html`<${Empty} icon="freshness" text=${FRESHNESS.empty} command=${FRESHNESS.command} />`;
  return html`<${PageHead} title=${FRESHNESS.title} note=${FRESHNESS.note} />
    <${Table} label=${FRESHNESS.title} rows=${data.items} columns=${COLUMNS} rowKey=${(/** @type {Folder} */ folder) => folder.name} empty=${empty} />`;
}

/** @param {Folder} folder */
async function check(folder) {
  go(link("runs", (await api.post(`${PATH}${url`/${folder.name}`}/run`)).id));
}

/** @type {import("tocsin/parts/table.js").Column<Folder>[]} */
const COLUMNS = [
  { name: "name", title: FRESHNESS.name, primary: true, value: (folder) => folder.name },
  { name: "state", title: FRESHNESS.state, value: (folder) => folder.state, cell: (folder) => html`<${Status} state=${folder.state} title=${folder.problem} />` },
  { name: "newest", title: FRESHNESS.newest, value: (folder) => folder.newest },
  { name: "age", title: FRESHNESS.age, value: (folder) => folder.newest_at, cell: (folder) => html`<${Time} at=${folder.newest_at} />` },
  { name: "allowed", title: FRESHNESS.allowed, align: "end", value: (folder) => folder.hours, cell: (folder) => FRESHNESS.hours(folder.hours) },
  {
    name: "run", title: FRESHNESS.lastRun, sort: false,
    cell: (folder) => (folder.last_run ? html`<a href=${link("runs", folder.last_run.id)}><${Status} state=${folder.last_run.status} quiet /></a>` : "–"),
  },
  { name: "do", title: "", bare: true, cell: (folder) => html`<${ActionButton} small icon="play" run=${() => check(folder)}>${FRESHNESS.check}<${About} name=${folder.name} /><//>` },
];
