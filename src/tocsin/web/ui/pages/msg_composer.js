// The composer: a message to a target or a profile, and what it becomes there.
import { html, useEffect, useState } from "../vendor/preact.js";
import { ApiProblem, api, url } from "../lib/api.js";
import { draftOf, dropDraft, keepDraft } from "../lib/drafts.js";
import { channelName } from "../lib/channels.js";
import { go, link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Shape, Status } from "../parts/status.js";
import { confirm } from "../parts/dialog.js";
import { toast } from "../parts/toast.js";
import { FilesField, bodyWith, described, useFiles } from "../pages/msg_files.js";
import { MoreFields, given, problemOf } from "../pages/msg_fields.js";
import { Previews, usePreviews } from "../pages/msg_preview.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").Profile} Profile */
/** @typedef {import("../types/records.js").SendResult} SendResult */
/** @typedef {{to: string, target: string, text: string, queue: boolean, fields: Record<string, any>}} Draft  `to` is `channel:<kind>` or `profile:<name>`. */
/** @typedef {import("../types/records.js").Delivery} Delivery */
/** @typedef {{path: string, body: Record<string, any>, channel: string, profile: string}} Call  One of `channel` and `profile` is empty. */

const DRAFT = "message";
const UPLOAD_TIMEOUT_MS = 3_600_000; // the server ends uploads that stall

/**
 * @param {{channels: Channel[], profiles: Profile[], limit: number, chosen?: string, edited?: Delivery, sent: () => Promise<void>}} props
 *   `edited` is the delivery of the message that is replaced; `limit` the bytes of the files of a message.
 */
export function Composer({ channels, profiles, limit, chosen, edited, sent }) {
  const usable = channels.filter((channel) => channel.configured);
  const usual = [...usable].sort((one, other) => other.sent_24h - one.sent_24h || Number(Boolean(other.default_target)) - Number(Boolean(one.default_target)))[0];
  const first = chosen || (usual ? `channel:${usual.channel}` : "");
  const none = edited ? draftFrom(edited) : { to: first, target: "", text: "", queue: false, fields: {} };
  const name = edited ? `${DRAFT} ${edited.id}` : DRAFT;
  const [draft, setDraft] = useState(/** @type {Draft} */ ({ ...none, ...(/** @type {any} */ (draftOf(name))), ...(chosen ? { to: chosen } : {}) }));
  const [results, setResults] = useState(/** @type {SendResult[]} */ ([]));
  const [refused, setRefused] = useState(/** @type {Record<string, string>} */ ({}));
  /** @param {Partial<Draft>} change */
  const change = (change) => {
    const next = { ...draft, ...change };
    setDraft(next);
    setRefused({});
    keepDraft(name, next);
  };
  useEffect(() => void (chosen && change({ to: chosen })), [chosen]);
  const choice = useFiles(limit);
  const [share, setShare] = useState(/** @type {number | undefined} */ (undefined));
  const call = callOf(draft);
  const planned = choice.files.length ? { ...call, body: { ...call.body, attach: described(choice.files) } } : call;
  const { plans, problems, hint } = usePreviews(planned, draft);
  const wrong = { ...problems, ...refused };
  if (!usable.length) return html`<p class="all-well composer__none"><${Shape} tone="warn" size=${16} />${MSG.needChannel}</p>`;
  const hasFiles = /** @type {any[]} */ (edited?.content.attach ?? []).length > 0;
  const modes = channels.find(({ channel }) => channel === call.channel)?.capabilities.parse_modes ?? [];
  const send = async () => {
    const question = { title: MSG.editTitle(draft.target), text: MSG.editText, action: MSG.replace };
    if (edited && !(await confirm(question))) return;
    try {
      const told = await sendNow(call, draft, choice.files, setShare).finally(() => setShare(undefined));
      setResults(told);
      if (told.every((result) => result.ok)) {
        dropDraft(name);
        choice.clear();
        if (edited) return go(link("deliveries", edited.id));
        setDraft({ ...none, to: draft.to, target: draft.target, queue: draft.queue });
      }
    } catch (problem) {
      if (!(problem instanceof ApiProblem) || !Object.keys(problem.fields).length) throw problem;
      setRefused(problem.fields);
      toast.problem(problem);
    }
    await sent();
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !hint) void send().catch(toast.problem);
  };
  return html`<section class=${`panel composer${call.channel ? "" : " composer--many"}`} aria-labelledby="compose"><h2 id="compose">${edited ? MSG.editing(edited.key) : MSG.compose}</h2>
    ${edited && html`<p class="notice notice--info composer__edits">${MSG.editNote} <a href="#/msg">${MSG.compose}</a></p>`}
    <div class=${choice.over ? "composer__form composer__form--over" : "composer__form"} onKeyDown=${onKey} ...${choice.events}>
      <${Destination} draft=${draft} change=${change} channels=${usable} profiles=${profiles} />
      <label class="field composer__text"><span class="field__label">${MSG.text}</span>
        <textarea class="input" rows="5" dir="auto" value=${draft.text} onInput=${(/** @type {any} */ event) => change({ text: event.currentTarget.value })}></textarea></label>
      <${MoreFields} fields=${draft.fields} change=${(/** @type {Record<string, any>} */ fields) => change({ fields })} problems=${wrong} modes=${modes} />
      <${FilesField} choice=${choice} limit=${limit} problem=${problemOf("attach", wrong)} share=${share} />
      ${hasFiles && html`<label class="check composer__text"><input type="checkbox" checked=${Boolean(draft.fields.attach)}
        onChange=${(/** @type {any} */ event) => change({ fields: { ...draft.fields, attach: event.currentTarget.checked ? [] : undefined } })} /> ${MSG.removeFiles}</label>`}
      <div class="composer__foot">
        ${call.channel && html`<label class="check"><input type="checkbox" checked=${draft.queue} onChange=${(/** @type {any} */ event) => change({ queue: event.currentTarget.checked })} /> ${MSG.queueHint}</label>`}
        <${ActionButton} kind="primary" icon="msg" run=${send} disabled=${Boolean(hint)}>${edited ? MSG.replace : draft.queue && call.channel ? MSG.queue : MSG.send}<//>
      </div>
    </div>
    <${Previews} plans=${plans} hint=${hint} many=${!call.channel} pictures=${choice.files.map(({ picture }) => picture)} />
    <${Results} results=${results} />
  </section>`;
}

/** @param {{draft: Draft, change: (change: Partial<Draft>) => void, channels: Channel[], profiles: Profile[]}} props */
function Destination({ draft, change, channels, profiles }) {
  const known = targetsKnown(draft.to, channels, profiles);
  return html`<label class="field"><span class="field__label">${MSG.to}</span><select class="input" value=${draft.to} onChange=${(/** @type {any} */ event) => change({ to: event.currentTarget.value })}>
      <optgroup label=${MSG.channel}>${channels.map((one) => html`<option value=${`channel:${one.channel}`} selected=${draft.to === `channel:${one.channel}`}>${one.label}</option>`)}</optgroup>
      ${profiles.length > 0 && html`<optgroup label=${MSG.profile}>${profiles.map((one) => html`<option value=${`profile:${one.name}`} selected=${draft.to === `profile:${one.name}`}>${one.name}</option>`)}</optgroup>`}
    </select></label>
    ${draft.to.startsWith("channel:") && html`<label class="field"><span class="field__label">${MSG.target}</span>
      <input class="input" value=${draft.target} list="targets" placeholder=${known[0] ?? ""} title=${MSG.targetHint} onInput=${(/** @type {any} */ event) => change({ target: event.currentTarget.value })} />
      <datalist id="targets">${known.map((one) => html`<option value=${one}></option>`)}</datalist></label>`}`;
}

/** The draft that replaces a message: what it says now. @param {Delivery} edited @returns {Draft} */
function draftFrom({ channel, target, message, content, format }) {
  const { attach: _, ...others } = content; // an edit without files keeps those that are there
  const fields = { ...others, priority: MSG.priorities.find(([, , number]) => number === content.priority)?.[0], format: format === "native" ? "" : format };
  return { to: `channel:${channel}`, target, text: message, queue: false, fields };
}

/** Known targets of a channel. @param {string} to @param {Channel[]} channels @param {Profile[]} profiles */
function targetsKnown(to, channels, profiles) {
  const named = profiles.flatMap(({ entries }) => entries).filter(({ channel }) => to === `channel:${channel}`);
  const usual = channels.find(({ channel }) => to === `channel:${channel}`)?.default_target;
  return [...new Set([usual, ...named.map(({ target }) => target)])].filter((target) => typeof target === "string");
}

/** The operation that sends a draft. @param {Draft} draft @returns {Call} */
function callOf({ to, target, text, fields }) {
  const at = to.indexOf(":");
  const name = to.slice(at + 1);
  const body = { message: text, ...given(fields), ...(fields.attach ? { attach: fields.attach } : {}) };
  if (to.startsWith("profile:")) return { path: url`/api/msg/profiles/${name}/send`, body, channel: "", profile: name };
  return { path: "/api/msg/send", body: { channel: name, target, ...body }, channel: name, profile: "" };
}

/** @param {Call} call @param {Draft} draft @param {import("../pages/msg_files.js").ChosenFile[]} files @param {(share: number) => void} progress @returns {Promise<SendResult[]>} */
async function sendNow({ path, body, profile }, { queue }, files, progress) {
  const options = files.length ? { progress, timeout: UPLOAD_TIMEOUT_MS } : {};
  if (profile) {
    const answer = await api.post(path, bodyWith(body, files), options);
    if (answer.ok) toast.ok(MSG.fanOut(answer.sent, answer.results.length));
    return answer.results;
  }
  const answer = await api.post(path, bodyWith({ ...body, queue }, files), options);
  if (!queue || answer.ok === false) {
    if (answer.ok) toast.ok(MSG.done(answer.target));
    return [answer];
  }
  toast.ok(MSG.queued, { label: MSG.show, run: () => go(link("deliveries", answer.id)) });
  return [];
}

/** @param {{results: SendResult[]}} props */
function Results({ results }) {
  if (!results.length) return null;
  const sent = results.filter((result) => result.ok).length;
  return html`<div class="composer__results" role="status">${results.length > 1 && html`<p>${MSG.fanOut(sent, results.length)}</p>`}
    <ul>${results.map((result) => html`<li><${Status} state=${result.ok ? "sent" : "failed"} /> <span>${channelName(result.channel)} <span dir="auto">${result.target}</span></span>
      <span class="muted" dir="auto">${result.ok ? result.message : result.error}</span></li>`)}</ul></div>`;
}
