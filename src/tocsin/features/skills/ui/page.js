// Skills: programs and assistant instructions, whether they are active, and why.
import { html } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { number } from "tocsin/lib/format.js";
import { nextPage } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Said } from "tocsin/parts/said.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { runSkill, standingOf } from "./run.js";
import { SKILLS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Skill} Skill */
/** @typedef {import("tocsin/types/records.js").List<Skill>} Skills */

const PATH = "/api/skills";
const QUERY = { limit: 200 };

export const page = definePage({
  title: SKILLS.title,
  /** @returns {Promise<Skills>} */
  load: ({ signal }) => api.get(PATH, QUERY, { signal }),
  View,
  events: "run.created run.updated",
  onEvent: (data, { data: run }) => (run.kind === "skill" ? withRun(data, run) : data),
});

/** @param {Skills} data @param {import("tocsin/types/records.js").Run} run */
function withRun(data, run) {
  return { ...data, items: data.items.map((skill) => (skill.name === run.subject_name && !(skill.last_run && skill.last_run.id > run.id) ? { ...skill, last_run: run } : skill)) };
}

/** @param {import("tocsin/lib/page.js").PageProps<Skills>} props */
function View({ data, query, change }) {
  const rows = data.items.filter((skill) => !query.kind || skill.kind === query.kind);
  const empty = html`<${Empty} icon="skills" text=${SKILLS.empty} command=${SKILLS.command} />`;
  return html`<${PageHead} title=${SKILLS.title} note=${SKILLS.note} />
    <${Toolbar}><${FilterBox} value=${query.q} />
      <${Choice} name="kind" label=${SKILLS.kind} value=${query.kind} options=${[["", SKILLS.anyKind], ...Object.entries(SKILLS.kinds)]} /><//>
    <${Table} label=${SKILLS.title} rows=${rows} columns=${COLUMNS} rowKey=${(/** @type {Skill} */ skill) => skill.name} filter=${query.q} remember="skills" brief
      href=${(/** @type {Skill} */ skill) => link("skills", skill.name)} empty=${data.items.length ? undefined : empty} more=${nextPage(data, change, PATH, QUERY)} />`;
}

/** Describe a skill, and why it is inactive if it is. @param {Skill} skill */
function describe(skill) {
  return html`<span class="skill__text" dir="auto">${skill.description}</span>
    ${standingOf(skill) !== "active" && html`<span class="muted"><${Said} text=${skill.active_reason} /></span>`}`;
}

/** @type {import("tocsin/parts/table.js").Column<Skill>[]} */
const COLUMNS = [
  { name: "state", title: SKILLS.state, value: standingOf, cell: (skill) => html`<${Status} state=${standingOf(skill)} title=${skill.active_reason} />` },
  { name: "name", title: SKILLS.name, primary: true, value: (skill) => skill.name },
  { name: "kind", title: SKILLS.kind, value: (skill) => SKILLS.kinds[skill.kind] },
  { name: "description", title: SKILLS.description, card: "line", value: (skill) => skill.description, cell: describe },
  {
    name: "last", title: SKILLS.last, value: (skill) => skill.last_run?.queued_at,
    cell: (skill) => (skill.last_run ? html`<a href=${link("runs", skill.last_run.id)}><${Status} state=${skill.last_run.status} quiet /></a> <span class="muted"><${Time} at=${skill.last_run.queued_at} /></span>` : html`<span class="muted">${SKILLS.never}</span>`),
  },
  { name: "count", title: SKILLS.runs, align: "end", hideSmall: true, value: (skill) => skill.runs_30d, cell: (skill) => number(skill.runs_30d) },
  {
    name: "run", title: "", bare: "icons",
    cell: (skill) => skill.runnable && html`<${ActionButton} icon="play" label=${`${SKILLS.run}: ${skill.name}`} run=${async () => runSkill(skill, (run) => go(`${link("skills", skill.name)}?tab=runs&run=${run.id}`))} />`,
  },
];
