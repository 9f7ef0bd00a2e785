// The notification profiles: their targets, their errors, and the subjects that send to them.
import { html } from "../vendor/preact.js";
import { channelName } from "../lib/channels.js";
import { MANIFEST } from "../lib/manifest.js";
import { link } from "../lib/router.js";
import { About } from "../parts/action.js";
import { FileNote } from "../parts/file_note.js";
import { Empty } from "../parts/states.js";
import { Shape, Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").Profile} Profile */

/** @param {{profiles: Profile[]}} props */
export function ProfileTable({ profiles }) {
  const empty = html`<${Empty} icon="msg" text=${MSG.profilesEmpty} example=${MSG.profilesExample} command=${MSG.profilesCommand} />`;
  return html`<section class="stack" aria-labelledby="profiles"><h2 id="profiles">${MSG.profiles}</h2>
    <${Table} label=${MSG.profiles} rows=${profiles} columns=${COLUMNS} rowKey=${(/** @type {Profile} */ profile) => profile.name} empty=${empty} />
    <${FileNote} file="profiles.yaml" doc="guide.html#profiles" /></section>`;
}

/** @type {import("../parts/table.js").Column<Profile>[]} */
const COLUMNS = [
  { name: "name", title: MSG.name, primary: true, value: (profile) => profile.name },
  { name: "state", title: MSG.state, value: (profile) => profile.valid, cell: (profile) => html`<${Status} state=${profile.valid ? "valid" : "invalid"} />` },
  {
    name: "targets",
    title: MSG.targets,
    card: "wide",
    value: (profile) => profile.entries.length,
    cell: (profile) => html`<ul class="targets">${profile.entries.map((entry) => html`<li><${Shape} tone=${entry.usable ? "ok" : "bad"} />
      <span>${channelName(entry.channel)} <span dir="auto">${entry.target}</span></span>${entry.problem && html` <span class="muted" dir="auto">${entry.problem}</span>`}</li>`)}</ul>`,
  },
  {
    name: "used",
    title: MSG.usedBy,
    value: (profile) => profile.used_by.length,
    cell: (profile) => (profile.used_by.length
      ? html`<ul class="targets">${profile.used_by.map(({ kind, name }) => html`<li><a href=${addressOf(kind, name)} dir="auto">${name}</a></li>`)}</ul>`
      : "–"),
  },
  {
    name: "do",
    title: "",
    sort: false,
    bare: true,
    cell: (profile) => html`<a class="button button--small" href=${`#/msg?to=${encodeURIComponent(`profile:${profile.name}`)}`}>${MSG.sendTo}<${About} name=${profile.name} /></a>`,
  },
];

/** Return the page of a subject that sends to a profile; for one with an ID, the list filtered by its name. @param {string} kind @param {string} name */
function addressOf(kind, name) {
  const own = MANIFEST.pages.find((page) => page.name === `${kind}s`); // a door or a heartbeat has a page, and no runs
  if (own && !MANIFEST.run_kinds[kind]) return link(own.name, name);
  const { page = "runs", key = "" } = MANIFEST.run_kinds[kind] ?? {};
  return key === "subject_name" ? link(page, name) : `#/${page}?q=${encodeURIComponent(name)}`;
}
