// The composer: a message to a target or a profile, and how it will be split.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { draftOf, dropDraft, keepDraft } from "../lib/drafts.js";
import { channelName } from "../lib/channels.js";
import { go, link } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Shape, Status } from "../parts/status.js";
import { toast } from "../parts/toast.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").Profile} Profile */
/** @typedef {import("../types/records.js").SendResult} SendResult */
/** @typedef {{to: string, target: string, text: string, queue: boolean}} Draft  `to` is `channel:<kind>` or `profile:<name>`. */
/** @typedef {{label: string} & ({parts: {text: string, length: number}[], warnings: string[]} | {error: string})} Preview */

const DRAFT = "message";
const PAUSE_MS = 350;

/** @param {{channels: Channel[], profiles: Profile[], chosen?: string, sent: () => Promise<void>}} props */
export function Composer({ channels, profiles, chosen, sent }) {
  const usable = channels.filter((channel) => channel.configured);
  const first = chosen || (usable[0] ? `channel:${usable[0].channel}` : "");
  const [draft, setDraft] = useState(/** @type {Draft} */ ({ to: first, target: "", text: "", queue: false, ...(/** @type {any} */ (draftOf(DRAFT))), ...(chosen ? { to: chosen } : {}) }));
  const [results, setResults] = useState(/** @type {SendResult[]} */ ([]));
  /** @param {Partial<Draft>} change */
  const change = (change) => {
    const next = { ...draft, ...change };
    setDraft(next);
    keepDraft(DRAFT, next);
  };
  useEffect(() => void (chosen && change({ to: chosen })), [chosen]);
  const known = targetsKnown(draft.to, channels, profiles);
  const previews = usePreviews(draft, channels, profiles);
  if (!usable.length) return html`<p class="all-well composer__none"><${Shape} tone="warn" size=${16} />${MSG.needChannel}</p>`;
  const [kind, name] = split(draft.to);
  const ready = draft.text.trim() && (kind === "profile" || draft.target.trim());
  const send = async () => {
    const told = kind === "profile" ? await toProfile(name, draft.text) : await toTarget(name, draft);
    setResults(told);
    if (told.every((result) => result.ok)) {
      dropDraft(DRAFT);
      setDraft({ ...draft, text: "" });
    }
    await sent();
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && ready) void send().catch(toast.problem);
  };
  return html`<section class="panel composer" aria-labelledby="compose"><h2 id="compose">${MSG.compose}</h2>
    <div class="composer__form" onKeyDown=${onKey}>
      <label class="field"><span class="field__label">${MSG.to}</span><select class="input" value=${draft.to} onChange=${(/** @type {any} */ event) => change({ to: event.currentTarget.value })}>
        <optgroup label=${MSG.channel}>${usable.map((one) => html`<option value=${`channel:${one.channel}`} selected=${draft.to === `channel:${one.channel}`}>${one.label}</option>`)}</optgroup>
        ${profiles.length > 0 && html`<optgroup label=${MSG.profile}>${profiles.map((one) => html`<option value=${`profile:${one.name}`} selected=${draft.to === `profile:${one.name}`}>${one.name}</option>`)}</optgroup>`}
      </select></label>
      ${kind === "channel" && html`<label class="field"><span class="field__label">${MSG.target}</span>
        <input class="input" value=${draft.target} list="targets" placeholder=${known[0] ?? ""} title=${MSG.targetHint} onInput=${(/** @type {any} */ event) => change({ target: event.currentTarget.value })} />
        <datalist id="targets">${known.map((one) => html`<option value=${one}></option>`)}</datalist></label>`}
      <label class="field composer__text"><span class="field__label">${MSG.text}</span>
        <textarea class="input" rows="4" dir="auto" value=${draft.text} onInput=${(/** @type {any} */ event) => change({ text: event.currentTarget.value })}></textarea></label>
      <div class="composer__foot">
        ${kind === "channel" && html`<label class="check"><input type="checkbox" checked=${draft.queue} onChange=${(/** @type {any} */ event) => change({ queue: event.currentTarget.checked })} /> ${MSG.queueHint}</label>`}
        <${ActionButton} kind="primary" icon="msg" run=${send} disabled=${!ready}>${draft.queue && kind === "channel" ? MSG.queue : MSG.send}<//>
      </div>
    </div>
    <${PreviewBox} previews=${previews} hint=${draft.text.trim() && kind === "channel" && !draft.target.trim() ? MSG.previewTarget : MSG.previewNone} />
    <${Results} results=${results} />
  </section>`;
}

/** Known targets of a channel. @param {string} to @param {Channel[]} channels @param {Profile[]} profiles */
function targetsKnown(to, channels, profiles) {
  const named = profiles.flatMap(({ entries }) => entries).filter(({ channel }) => to === `channel:${channel}`);
  const usual = channels.find(({ channel }) => to === `channel:${channel}`)?.default_target;
  return [...new Set([usual, ...named.map(({ target }) => target)])].filter((target) => typeof target === "string");
}

/** @param {string} to @returns {[kind: string, name: string]} */
function split(to) {
  const at = to.indexOf(":");
  return [to.slice(0, at), to.slice(at + 1)];
}

/** @param {string} channel @param {Draft} draft @returns {Promise<SendResult[]>} */
async function toTarget(channel, { target, text, queue }) {
  const answer = await api.post("/api/msg/send", { channel, target, message: text, queue });
  if (!queue) {
    if (answer.ok) toast.ok(MSG.done(answer.target));
    return [answer];
  }
  toast.ok(MSG.queued, { label: MSG.show, run: () => go(link("deliveries", answer.id)) });
  return [];
}

/** @param {string} profile @param {string} message @returns {Promise<SendResult[]>} */
async function toProfile(profile, message) {
  const answer = await api.post(url`/api/msg/profiles/${profile}/send`, { message });
  if (answer.ok) toast.ok(MSG.fanOut(answer.sent, answer.results.length));
  return answer.results;
}

/**
 * Return the destinations of a draft: one target per channel.
 * @param {Draft} draft
 * @param {Channel[]} channels
 * @param {Profile[]} profiles
 */
function targetsOf({ to, target }, channels, profiles) {
  const [kind, name] = split(to);
  const label = (/** @type {string} */ one) => channels.find(({ channel }) => channel === one)?.label ?? one;
  if (kind === "channel") return target.trim() ? [{ channel: name, target, label: label(name) }] : [];
  const entries = profiles.find((profile) => profile.name === name)?.entries ?? [];
  const first = new Map(entries.filter(({ usable }) => usable).reverse().map((entry) => [entry.channel, entry]));
  return [...first.values()].reverse().map((entry) => ({ ...entry, label: label(entry.channel) }));
}

/** The result of a dry run per channel, shortly after the last key. @param {Draft} draft @param {Channel[]} channels @param {Profile[]} profiles @returns {Preview[]} */
function usePreviews(draft, channels, profiles) {
  const [previews, setPreviews] = useState(/** @type {Preview[]} */ ([]));
  const { text } = draft;
  const targets = targetsOf(draft, channels, profiles);
  useEffect(() => {
    if (!targets.length || !text.trim()) return setPreviews([]);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const asked = targets.map(({ channel, target, label }) =>
        api.post("/api/msg/send", { channel, target, message: text, dry_run: true }, { signal: stop.signal })
          .then((answer) => ({ label, ...("parts" in answer && answer.parts ? answer : { error: answer.error }) }), (error) => ({ label, error: error.message })));
      void Promise.all(asked).then((found) => stop.signal.aborted || setPreviews(found));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [draft.to, draft.target, text]);
  return previews;
}

/** @param {{previews: Preview[], hint: string}} props */
function PreviewBox({ previews, hint }) {
  if (!previews.length) return html`<p class="muted composer__preview">${hint}</p>`;
  return html`<div class="composer__preview" aria-label=${MSG.preview} role="group">${previews.map((preview) => html`<section class="composer__channel" key=${preview.label}>
    <h3>${preview.label}</h3>
    ${"error" in preview ? html`<p><${Shape} tone="bad" /> <span dir="auto">${preview.error}</span></p>` : html`
      ${preview.warnings.map((warning) => html`<p><${Shape} tone="warn" /> ${warning}</p>`)}
      ${preview.parts.map((part, index) => html`<figure class="bubble"><figcaption class="muted">${MSG.part(index + 1, preview.parts.length, part.length)}</figcaption>
        <pre dir="auto" tabindex="0">${part.text}</pre></figure>`)}`}</section>`)}</div>`;
}

/** @param {{results: SendResult[]}} props */
function Results({ results }) {
  if (!results.length) return null;
  const sent = results.filter((result) => result.ok).length;
  return html`<div class="composer__results" role="status">${results.length > 1 && html`<p>${MSG.fanOut(sent, results.length)}</p>`}
    <ul>${results.map((result) => html`<li><${Status} state=${result.ok ? "sent" : "failed"} /> <span>${channelName(result.channel)} <span dir="auto">${result.target}</span></span>
      <span class="muted" dir="auto">${result.ok ? result.message : result.error}</span></li>`)}</ul></div>`;
}
