// One door: what it takes, and its newest requests with their outcomes.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { number } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CodeView } from "tocsin/parts/code.js";
import { confirm } from "tocsin/parts/dialog.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { facts, pretty, Severity } from "./message.js";
import { SetUp } from "./set_up.js";
import { DOORS } from "./strings.js";

const MAX_TITLE = 120;

/** @typedef {import("tocsin/types/records.js").Door} Door */
/** @typedef {import("tocsin/types/records.js").DoorRequest} DoorRequest */
/** @typedef {import("tocsin/types/records.js").DoorSetUp} Found */
/** @typedef {{door: Door, requests: DoorRequest[]}} Data */
/** @typedef {{profile: string, deliveries: string[], note: string | null}} Tested */

export const page = definePage({
  title: ({ params }) => params.id,
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const path = url`/api/doors/${params.id}`;
    const [door, requests] = await Promise.all([api.get(path, {}, { signal }), api.get(`${path}/requests`, {}, { signal })]);
    return { door, requests };
  },
  View: One,
  events: "door.*",
  onEvent: (data, { data: { id } }) => (id === data.door.id ? undefined : data),
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function One({ data: { door, requests } }) {
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [tested, setTested] = useState(/** @type {Tested | null} */ (null));
  const path = url`/api/doors/${door.id}`;
  const test = async () => setTested(await api.post(`${path}/test`));
  const rotate = async () => {
    const work = async () => setFound(await api.post(`${path}/rotate`));
    await confirm({ title: DOORS.rotateTitle(door.name), text: DOORS.rotateText, action: DOORS.rotate, danger: true, work });
  };
  const remove = async () => {
    if (!(await confirm({ title: DOORS.removeTitle(door.name), text: DOORS.removeText, action: DOORS.remove, danger: true, work: () => api.remove(path) }))) return;
    toast.ok(DOORS.removed(door.name));
    go("#/doors");
  };
  const actions = html`<a class="button" href=${`${link("doors", door.name)}/edit`}>${DOORS.edit}</a> ${door.profile && html`<${ActionButton} run=${test} icon="msg">${DOORS.test}<//>`}
    <${ActionButton} run=${rotate} icon="link">${DOORS.rotate}<//> <${ActionButton} run=${remove}>${DOORS.remove}<//>`;
  return html`<${PageHead} title=${door.name} back=${{ href: "#/doors", label: DOORS.back }} actions=${actions} />
    ${tested && html`<${TestOutcome} tested=${tested} />`}
    ${found && html`<${SetUp} found=${found} />`}
    <dl class="facts panel facts--panel">
      ${fact(DOORS.protocol, door.protocol)}
      ${door.preset && door.preset !== door.protocol && fact(DOORS.preset, door.preset)}
      ${fact(DOORS.profile, door.profile ?? DOORS.byRules)}
      ${fact(DOORS.severity, html`<${Severity} name=${door.severity} />`)}
      ${fact(DOORS.sources, door.sources.join(", ") || DOORS.anySource)}
      ${fact(DOORS.rate, DOORS.perMinute(number(door.rate)))}
      ${fact(DOORS.secret, door.secret_name ?? (door.has_secret ? DOORS.secrets.yes : DOORS.secrets.no))}
      ${fact(DOORS.requests, number(door.requests))}
      ${fact(DOORS.last, html`<${Time} at=${door.last_at} />`)}
      ${fact(DOORS.created, html`<${Time} at=${door.created_at} />`)}
    </dl>
    <${Requests} door=${door} requests=${requests} />`;
}

/** @param {{tested: Tested}} props */
function TestOutcome({ tested }) {
  if (!tested.deliveries.length) return html`<p class="delivery__error" role="alert"><${Shape} tone="bad" /> <span dir="auto">${tested.note}</span></p>`;
  return html`<p class="notice notice--info" role="status"><span>${DOORS.tested(tested.profile)} ${deliveryLinks(tested.deliveries)}</span> ${tested.note && html`<span dir="auto">${tested.note}</span>`}</p>`;
}

/** @param {{door: Door, requests: DoorRequest[]}} props */
function Requests({ door, requests }) {
  const [open, setOpen] = useState(0);
  const turn = (/** @type {number} */ id) => setOpen(id === open ? 0 : id);
  const empty = html`<${Empty} icon="doors" text=${DOORS.noRequests} command=${`tocsin doors last ${door.name}`} />`;
  return html`<section class="stack" aria-labelledby="latest"><h2 id="latest">${DOORS.latest}</h2><p class="muted">${DOORS.latestNote}</p>
    <${Table} label=${DOORS.latest} rows=${requests} columns=${columns(open, turn)} rowKey=${(/** @type {DoorRequest} */ one) => String(one.id)} brief empty=${empty}
      toggle=${(/** @type {DoorRequest} */ one) => turn(one.id)} below=${(/** @type {DoorRequest} */ one) => one.id === open && html`<${Details} door=${door} request=${one} />`} /></section>`;
}

/** @param {number} open @param {(id: number) => void} turn @returns {import("tocsin/parts/table.js").Column<DoorRequest>[]} */
function columns(open, turn) {
  return [
    { name: "when", title: DOORS.when, card: "aside", value: (one) => one.at, cell: (one) => html`<${Time} at=${one.at} />` },
    {
      name: "what",
      title: DOORS.what,
      primary: true,
      value: titleOf,
      cell: (one) => html`<button type="button" class="link-button" aria-expanded=${one.id === open} onClick=${() => turn(one.id)}><span dir="auto">${titleOf(one)}</span></button>`,
    },
    { name: "severity", title: DOORS.severity, card: "line", value: (one) => one.severity, cell: (one) => (one.severity ? html`<${Severity} name=${one.severity} />` : "–") },
    { name: "client", title: DOORS.client, value: (one) => one.client, hideSmall: true },
    { name: "answer", title: DOORS.status, align: "end", value: (one) => one.status, hideSmall: true },
    { name: "state", title: DOORS.state, value: (one) => one.state, cell: (one) => html`<${Status} state=${DOORS.states[one.state][0]} label=${DOORS.states[one.state][1]} title=${one.note ?? undefined} />` },
  ];
}

/** @param {DoorRequest} one */
function titleOf(one) {
  const letters = [...(one.title || one.text?.split("\n")[0] || one.note || DOORS.noMessage)];
  return letters.length > MAX_TITLE ? `${letters.slice(0, MAX_TITLE).join("")}…` : letters.join("");
}

/** @param {{door: Door, request: DoorRequest}} props */
function Details({ door, request }) {
  const told = facts(request, request.deliveries.length > 0 && [DOORS.deliveries, deliveryLinks(request.deliveries)]);
  return html`<div class="door__request" role="group" aria-label=${DOORS.requestOf(request.id)}>
    ${told.length > 0 && html`<dl class="door__facts">${told.map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl>`}
    ${request.payload && html`<${CodeView} text=${pretty(request.payload)} label=${DOORS.payload} />
      <p><a class="button" href=${`${link("doors", door.name)}/rule?request=${request.id}`}>${DOORS.makeRule}</a></p>`}
  </div>`;
}

/** @param {readonly string[]} ids */
function deliveryLinks(ids) {
  return ids.map((id, index) => html`${index > 0 && ", "}<a href=${link("deliveries", id)}>${DOORS.delivery}${ids.length > 1 ? ` ${index + 1}` : ""}</a>`);
}
