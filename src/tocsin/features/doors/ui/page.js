// Doors: addresses at which other tools report.
import { html } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { number } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage, withRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { DOORS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Door} Door */
/** @typedef {import("tocsin/types/records.js").List<Door>} List */

const PATH = "/api/doors";

export const page = definePage({
  title: DOORS.title,
  reloadOn: ["q"],
  /** @returns {Promise<List>} */
  load: ({ query, signal }) => api.get(PATH, { q: query.q }, { signal }),
  View: Doors,
  events: "door.*",
  onEvent: (data, { data: record }) => (record.protocol && data.items.some(({ id }) => id === record.id) ? withRecord(data, record, "id") : undefined),
});

/** @param {import("tocsin/lib/page.js").PageProps<List>} props */
function Doors({ data, query, change }) {
  const add = html`<a class="button button--primary" href="#/doors/new"><${Icon} name="plus" />${DOORS.add}</a>`;
  const empty = query.q ? undefined : html`<${Empty} icon="doors" text=${DOORS.empty} action=${add} command=${DOORS.command} />`;
  useKeys([{ keys: "n", label: DOORS.add, run: () => go("#/doors/new") }]);
  return html`<${PageHead} title=${DOORS.title} note=${DOORS.note} actions=${add} />
    ${(data.items.length > 5 || query.q) && html`<${Toolbar}><${FilterBox} value=${query.q} /><//>`}
    <${Table} label=${DOORS.title} rows=${data.items} columns=${COLUMNS} rowKey=${(/** @type {Door} */ door) => door.id}
      href=${(/** @type {Door} */ door) => link("doors", door.name)} empty=${empty} more=${nextPage(data, change, PATH, { q: query.q })} />
    <${FileNote} file="doors.yaml" doc="doors.html#rules" edit=${DOORS.rulesIn} />`;
}

/** @type {import("tocsin/parts/table.js").Column<Door>[]} */
const COLUMNS = [
  { name: "name", title: DOORS.name, primary: true, value: (door) => door.name },
  { name: "protocol", title: DOORS.protocol, value: (door) => [...new Set([door.protocol, door.preset])].filter(Boolean).join(", ") },
  { name: "profile", title: DOORS.profile, value: (door) => door.profile ?? DOORS.byRules },
  { name: "requests", title: DOORS.requests, align: "end", value: (door) => door.requests, cell: (door) => number(door.requests) },
  { name: "last", title: DOORS.last, value: (door) => door.last_at, cell: (door) => html`<${Time} at=${door.last_at} />` },
];
