// One delivery: its text and fields, its state and the reason, and the other messages with its key.
import { html, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { canChange, channelName, readChannels } from "../lib/channels.js";
import { bytes } from "../lib/format.js";
import { PICTURES, visibleName } from "../parts/message_files.js";
import { definePage } from "../lib/page.js";
import { link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { confirm } from "../parts/dialog.js";
import { PageHead, fact } from "../parts/page_head.js";
import { Duration, Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { Actions, State, Target } from "../pages/deliveries_actions.js";
import { DELIVERIES } from "../strings/deliveries.js";

/** @typedef {import("../pages/deliveries_actions.js").Delivery} Delivery */
/** @typedef {import("../types/records.js").AuditEntry} Press  The audit entry of a pressed button. */
/** @typedef {{name: string, type: string, size: number, alt?: string}} AttachedFile */
/** @typedef {{delivery: Delivery, revisions: Delivery[], presses: Press[]}} Found  Deliveries with the key and presses, newest first. */

const MOST_REVISIONS = 50;
const MOST_PRESSES = 20;
const WEB = /^https?:/i;
const MAX_PICTURE_BYTES = 20 * 1024 * 1024;
const SHOWN_ELSEWHERE = ["title", "key"];

export const page = definePage({
  title: ({ data }) => (data ? `${channelName(data.delivery.channel)} ${data.delivery.target}` : DELIVERIES.title),
  /** @returns {Promise<Found>} */
  load: async ({ params, signal }) => {
    const [delivery] = await Promise.all([api.get(url`/api/deliveries/${params.id}`, {}, { signal }), readChannels(signal)]);
    const { channel, target, key } = delivery;
    const found = key ? await api.get("/api/deliveries", { channel, target, key, limit: MOST_REVISIONS }, { signal }) : { items: [] };
    const canBePressed = delivery.content.actions?.some((/** @type {{action: string}} */ each) => each.action === "call");
    const pressed = { action: "msg.press", query: delivery.id, limit: MOST_PRESSES };
    const presses = canBePressed ? await api.get("/api/audit/search", pressed, { signal }) : { items: [] };
    return { delivery, revisions: found.items, presses: presses.items };
  },
  View: One,
  events: "delivery.updated delivery.resync",
  onEvent: (data, { type, data: record }) => (type === "delivery.resync" || concerns(data.delivery, record) ? undefined : data),
});

/** Whether a changed delivery is the one shown, or has its key. @param {Delivery} shown @param {Delivery} changed */
function concerns(shown, changed) {
  return changed.id === shown.id || Boolean(shown.key && changed.key === shown.key && changed.channel === shown.channel && changed.target === shown.target);
}

/** @param {import("../lib/page.js").PageProps<Found>} props */
function One({ data: { delivery, revisions, presses }, change, reload }) {
  /** @param {Delivery} after */
  const show = (after) => change((now) => ({ ...now, delivery: after }));
  const back = { href: "#/deliveries", label: DELIVERIES.back };
  const actions = html`<${KeyActions} delivery=${delivery} latest=${revisions[0]} reload=${reload} /><${Actions} delivery=${delivery} show=${show} />`;
  const withdraws = delivery.operation === "withdraw";
  const files = /** @type {AttachedFile[]} */ (delivery.content.attach ?? []);
  return html`<${PageHead} title=${html`<${Target} to=${delivery} />`} note=${html`<${State} delivery=${delivery} />`} actions=${actions} back=${back} />
    ${delivery.error && html`<p class="delivery__error" dir="auto">${delivery.error}</p>`}
    ${!withdraws && html`<section class="panel delivery__message"><h2 class="visually-hidden">${DELIVERIES.message}</h2>
      ${delivery.content.title && html`<p class="delivery__title" dir="auto">${delivery.content.title}</p>`}
      <pre class="delivery__pre" dir="auto" tabindex="0" aria-label=${DELIVERIES.message}>${delivery.message}</pre></section>`}
    ${files.length > 0 && html`<${Files} delivery=${delivery} files=${files} />`}
    <${CallButtons} delivery=${delivery} latest=${revisions[0]} reload=${reload} />
    <dl class="facts panel facts--panel">
      ${fact(DELIVERIES.operation, DELIVERIES.operations[delivery.operation] ?? delivery.operation)}
      ${delivery.key && fact(DELIVERIES.key, html`<a href=${`#/deliveries?key=${encodeURIComponent(delivery.key)}`}><code>${delivery.key}</code></a>`)}
      ${delivery.revision > 0 && fact(DELIVERIES.revision, delivery.revision)}
      ${delivery.note && fact(DELIVERIES.note, html`<span dir="auto">${delivery.note}</span>`)}
      ${fields(delivery)}
      ${fact(DELIVERIES.attempts, delivery.attempts)}
      ${fact(DELIVERIES.parts, DELIVERIES.partsOf(delivery.parts_sent, delivery.parts_total))}
      ${fact(DELIVERIES.next, html`<${Time} at=${delivery.next_attempt_at} none="–" />`)}
      ${fact(DELIVERIES.created, html`<${Time} at=${delivery.created_at} />`)}
      ${fact(DELIVERIES.finished, html`<${Time} at=${delivery.finished_at} none="–" />`)}
      ${fact(DELIVERIES.took, html`<${Duration} ms=${delivery.duration_ms} />`)}
      ${fact(DELIVERIES.source, delivery.source)}
      ${fact(DELIVERIES.policy, DELIVERIES.policies[delivery.policy] ?? delivery.policy)}
      ${delivery.provider_id && fact(DELIVERIES.provider, html`<code>${delivery.provider_id}</code>`)}
      ${delivery.not_before && fact(DELIVERIES.notBefore, html`<${Time} at=${delivery.not_before} />`)}
      ${delivery.expires_at && fact(DELIVERIES.expires, html`<${Time} at=${delivery.expires_at} />`)}
    </dl>
    ${presses.length > 0 && html`<${Presses} presses=${presses} />`}
    ${revisions.length > 0 && html`<${Revisions} revisions=${revisions} shown=${delivery.id} />`}`;
}

/** What can be done with the message of a key. @param {{delivery: Delivery, latest?: Delivery, reload: () => Promise<void>}} props */
function KeyActions({ delivery, latest, reload }) {
  const { channel, target } = delivery;
  if (!delivery.key || !latest || (latest.operation === "withdraw" && latest.status === "sent")) return null;
  const can = canChange(channel);
  const withdraw = async () => {
    const work = async () => {
      const answer = await api.post(url`/api/deliveries/${delivery.id}/withdraw`);
      if (!answer.ok) throw new Error(answer.error);
      toast.ok(DELIVERIES.withdrawn(answer.message));
    };
    if (await confirm({ title: DELIVERIES.withdrawTitle(target), text: DELIVERIES.withdrawText, action: DELIVERIES.withdraw, danger: true, work })) await reload();
  };
  return html`<span class="row">${can.edit && html`<a class="button" href=${`#/msg?edit=${encodeURIComponent(latest.id)}`}>${DELIVERIES.edit}</a>`}
    ${can.withdraw && html`<${ActionButton} run=${withdraw}>${DELIVERIES.withdraw}<//>`}</span>`;
}

/**
 * The buttons of a message whose product cannot report who presses; a later message with its key may have removed some.
 * @param {{delivery: Delivery, latest?: Delivery, reload: () => Promise<void>}} props
 */
function CallButtons({ delivery, latest = delivery, reload }) {
  const offered = new Set(actionsOf(latest).map((each) => each.name));
  const actions = actionsOf(delivery).map((each) => each.action === "call" && offered.has(each.name) && each);
  if (!canChange(delivery.channel).press || !actions.some(Boolean)) return null;
  /** @param {{label: string, confirm?: string}} action @param {number} button */
  const press = async ({ label, confirm: question }, button) => {
    const work = async () => {
      const { state, detail } = await api.post(url`/api/deliveries/${delivery.id}/press`, { button });
      if (state === "refused") throw new Error(detail);
      toast.ok(`${label}: ${detail}`);
    };
    if (question) await confirm({ title: label, text: question, action: label, work });
    else await work();
    await reload();
  };
  return html`<p class="row">${actions.map((each, button) => each && html`<${ActionButton} key=${button} run=${() => press(each, button)}>${each.label}<//>`)}</p>`;
}

/** @param {Delivery} delivery */
function actionsOf({ content }) {
  return /** @type {{action: string, name?: string, label: string, confirm?: string}[]} */ (content.actions ?? []);
}

/** @param {{presses: Press[]}} props */
function Presses({ presses }) {
  return html`<section class="panel" aria-labelledby="presses"><h2 id="presses" class="panel__head">${DELIVERIES.presses}</h2>
    <ol class="lines" reversed>${presses.map((one) => html`<li class="line" key=${one.id}>
      <span class="line__name" dir="auto">${one.detail}</span><span class="line__side"><${Time} at=${one.ts} /></span></li>`)}</ol></section>`;
}

/** @param {{revisions: Delivery[], shown: string}} props */
function Revisions({ revisions, shown }) {
  return html`<section class="panel" aria-labelledby="revisions"><h2 id="revisions" class="panel__head">${DELIVERIES.revisions}</h2>
    <ol class="lines" reversed>${revisions.map((one) => html`<li key=${one.id}><a class="line" href=${link("deliveries", one.id)} aria-current=${one.id === shown ? "page" : undefined}>
      <span class="line__name" dir="auto">${DELIVERIES.operations[one.operation]}${one.revision > 0 && ` ${one.revision}`}${one.message && `: ${one.content.title || one.message}`}</span>
      ${one.id === shown && html`<span class="muted">${DELIVERIES.thisOne}</span>`}<${State} delivery=${one} /><span class="line__side"><${Time} at=${one.created_at} /></span></a></li>`)}</ol></section>`;
}

/** The fields of a message that are used, but its title and key, which are shown elsewhere. @param {Delivery} delivery */
function fields({ content }) {
  const used = Object.entries(/** @type {Record<string, any>} */ (content));
  return used.filter(([name, value]) => !SHOWN_ELSEWHERE.includes(name) && !(name === "attach" && value.length)).map(([name, value]) => fact(DELIVERIES.fieldNames[name] ?? name, name === "attach" ? DELIVERIES.noFiles : valueOf(value)));
}

/** @param {{delivery: Delivery, files: AttachedFile[]}} props */
function Files({ delivery, files }) {
  return html`<section class="panel" aria-labelledby="files"><h2 id="files" class="panel__head">${DELIVERIES.files}</h2>
    <ul class="lines">${files.map((file, index) => html`<${AttachedFileLine} key=${index} file=${file} address=${`${url`/api/deliveries/${delivery.id}/file`}?number=${index + 1}`} />`)}</ul></section>`;
}

/** A file with a link to its content; an image is shown, until its content is gone. @param {{file: AttachedFile, address: string}} props */
function AttachedFileLine({ file: { name, type, size, alt }, address }) {
  const [isGone, setGone] = useState(false);
  const isPicture = PICTURES.has(type) && size <= MAX_PICTURE_BYTES && !isGone;
  return html`<li class="line delivery__file"><a class="line__name" href=${address} download=${visibleName(name)}><bdi>${visibleName(name)}</bdi></a>
    <span class="muted">${type}</span><span class="line__side">${bytes(size)}</span>
    ${isPicture && html`<p class="delivery__picture"><img class="message__picture" src=${address} alt=${alt || visibleName(name)} onError=${() => setGone(true)} /></p>`}</li>`;
}

/** @param {any} value @returns {import("../vendor/preact.js").Child} */
function valueOf(value) {
  if (value === true) return DELIVERIES.yes;
  if (Array.isArray(value)) return html`<ul class="targets">${value.map((one) => html`<li dir="auto">${typeof one === "object" ? buttonOf(one) : one}</li>`)}</ul>`;
  return typeof value === "string" && WEB.test(value) ? html`<a href=${value} target="_blank" rel="noopener noreferrer">${value}</a>` : String(value);
}

/** @param {{label: string, url?: string, name?: string, value?: string}} button */
function buttonOf({ label, url: address, name, value }) {
  if (address && WEB.test(address)) return html`<a href=${address} target="_blank" rel="noopener noreferrer">${label}</a>`;
  return html`${label} <span class="muted">${[name, value].filter(Boolean).join(" ")}</span>`;
}
