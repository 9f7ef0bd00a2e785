// Deliveries: every message and its outcome.
import { html } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { channelKinds, channelName, readChannels } from "../lib/channels.js";
import { nextPage, withHeard, withoutRecord, withRecord } from "../lib/list.js";
import { definePage } from "../lib/page.js";
import { link } from "../lib/router.js";
import { PageHead } from "../parts/page_head.js";
import { Empty } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { Choice, FilterBox, Toolbar } from "../parts/toolbar.js";
import { Actions, State, Target } from "../pages/deliveries_actions.js";
import { DELIVERIES } from "../strings/deliveries.js";

/** @typedef {import("../pages/deliveries_actions.js").Delivery} Delivery */
/** @typedef {import("../types/records.js").List<Delivery> & {wanted: Record<string, string>}} Deliveries */

const PATH = "/api/deliveries";

export const page = definePage({
  title: DELIVERIES.title,
  reloadOn: ["q", "status", "channel", "key"],
  /** @returns {Promise<Deliveries>} */
  load: async ({ query, signal }) => {
    const [found] = await Promise.all([api.get(PATH, asked(query), { signal }), readChannels(signal)]);
    return { ...found, wanted: query };
  },
  View: List,
  events: "delivery.updated delivery.resync",
  onEvent: changedBy,
});

/** @param {Deliveries} data @param {import("../lib/sse.js").ServerEvent} event */
function changedBy(data, { type, data: record }) {
  const { q, status, channel, key } = data.wanted;
  const known = data.items.some(({ id }) => id === record.id);
  if (type === "delivery.resync" || (q && !known)) return undefined; // only the server can match the words
  const fits = (!status || record.status === status) && (!channel || record.channel === channel) && (!key || record.key === key);
  return fits ? withHeard(data, record, "id") : withoutRecord(data, record.id, "id");
}

/** @param {Record<string, string>} query */
function asked({ q, status, channel, key }) {
  return { q, status, channel, key };
}

/** @param {import("../lib/page.js").PageProps<Deliveries>} props */
function List({ data, query, change }) {
  const filtered = Boolean(query.q || query.status || query.channel || query.key);
  const send = html`<a class="button button--primary" href="#/msg">${DELIVERIES.send}</a>`;
  const empty = html`<${Empty} icon="deliveries" text=${DELIVERIES.empty} action=${send} command=${DELIVERIES.command} />`;
  const states = Object.entries(DELIVERIES.states).map(([state, [, word]]) => [state, word]);
  /** @param {Delivery} after */
  const show = (after) => change((now) => withRecord(now, after, "id"));
  const more = nextPage(data, (turn) => change((now) => ({ ...turn(now), wanted: now.wanted })), PATH, asked(query));
  return html`<${PageHead} title=${DELIVERIES.title} note=${DELIVERIES.about} actions=${send} />
    <${Toolbar}>
      <${FilterBox} value=${query.q} label=${DELIVERIES.search} />
      <${Choice} name="status" label=${DELIVERIES.state} value=${query.status} options=${[["", DELIVERIES.all], ...states]} />
      <${Choice} name="channel" label=${DELIVERIES.channel} value=${query.channel} options=${[["", DELIVERIES.all], ...channelsOf(data.items)]} />
      <${FilterBox} key=${query.key} name="key" value=${query.key} label=${DELIVERIES.key} />
    <//>
    <${Table} label=${DELIVERIES.title} rows=${data.items} columns=${columns(show)} rowKey=${(/** @type {Delivery} */ one) => one.id}
      href=${(/** @type {Delivery} */ one) => link("deliveries", one.id)} empty=${filtered ? undefined : empty} more=${more} />`;
}

/** The title and the beginning of a message, and what is done with the message of its key. @param {{delivery: Delivery}} props */
function Text({ delivery }) {
  const { content, message, key, operation } = delivery;
  const said = [content.title, message].filter(Boolean).join(" · ");
  return html`<span class="delivery__text">${operation === "send" ? "" : `${DELIVERIES.operations[operation]}: `}${said.slice(0, 160) || key}</span>`;
}

/** Return the channels that can be selected. @param {Delivery[]} items @returns {[string, string][]} */
function channelsOf(items) {
  return [...new Set([...channelKinds(), ...items.map(({ channel }) => channel)])].map((name) => [name, channelName(name)]);
}

/**
 * @param {(after: Delivery) => void} show
 * @returns {import("../parts/table.js").Column<Delivery>[]}
 */
function columns(show) {
  return [
    { name: "state", title: DELIVERIES.state, value: (one) => one.status, cell: (one) => html`<${State} delivery=${one} />` },
    { name: "message", title: DELIVERIES.message, primary: true, value: (one) => one.message, cell: (one) => html`<${Text} delivery=${one} />` },
    { name: "target", title: DELIVERIES.target, value: (one) => `${channelName(one.channel)} ${one.target}`, cell: (one) => html`<${Target} to=${one} />` },
    { name: "error", title: DELIVERIES.error, value: (one) => one.error, cell: (one) => html`<span class="muted" dir="auto">${one.error.slice(0, 120) || "–"}</span>` },
    { name: "next", title: DELIVERIES.next, value: (one) => one.next_attempt_at, cell: (one) => html`<${Time} at=${one.next_attempt_at} none="–" />` },
    { name: "created", title: DELIVERIES.created, value: (one) => one.created_at, cell: (one) => html`<${Time} at=${one.created_at} />` },
    { name: "do", title: "", sort: false, bare: true, cell: (one) => html`<${Actions} delivery=${one} show=${show} small />` },
  ];
}
