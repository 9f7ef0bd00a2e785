// First steps on a new installation: each is done where it stands.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { remembered, useSignal } from "../lib/store.js";
import { ActionButton } from "../parts/action.js";
import { Shape } from "../parts/status.js";
import { toast } from "../parts/toast.js";
import { CHECKLIST } from "../strings/home_steps.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").StatusReport} StatusReport */
/** @typedef {{channels: Channel[], safe: boolean}} Found */

const hidden = remembered("first-steps-hidden", false);

/** @param {{report: StatusReport}} props */
export function FirstSteps({ report }) {
  const away = useSignal(hidden);
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const read = () => readSteps().then(setFound, () => undefined); // Home stands without them
  useEffect(() => void read(), []);
  if (away || !found) return null;
  const configured = found.channels.filter((channel) => channel.configured);
  const tested = configured.some((channel) => channel.last_test?.ok);
  const sent = configured.some((channel) => channel.last_sent_at);
  const hasJob = (report.subsystems.cron?.counts.jobs ?? 0) > 0;
  const done = [found.safe, configured.length > 0, tested, sent, hasJob].filter(Boolean).length;
  return html`<section class="panel steps" aria-labelledby="first-steps"><div class="panel__head">
      <h2 id="first-steps">${CHECKLIST.title}</h2><span class="row"><span class="muted">${CHECKLIST.progress(done, 5)}</span>
      <button type="button" class="button button--small" onClick=${() => hidden.set(true)}>${CHECKLIST.hide}</button></span></div>
    <ol>
      <${Step} done=${found.safe} title=${CHECKLIST.password} hint=${CHECKLIST.passwordHint} action=${html`<code>tocsin init</code>`} />
      <${Step} done=${configured.length > 0} title=${CHECKLIST.channel} hint=${CHECKLIST.channelHint}
        action=${html`<a class="button button--small" href="#/msg">${CHECKLIST.channelAction}</a>`} />
      <${Step} done=${tested} title=${CHECKLIST.test} hint=${CHECKLIST.testHint}
        action=${configured.map((channel) => html`<${ActionButton} small run=${() => test(channel).then(read)}>${CHECKLIST.testAction(channel.label)}<//>`)} />
      <${Step} done=${sent} title=${CHECKLIST.message} hint=${CHECKLIST.messageHint} action=${configured.length > 0 && html`<${FirstMessage} channels=${configured} sent=${read} />`} />
      <${Step} done=${hasJob} title=${CHECKLIST.job} hint=${CHECKLIST.jobHint}
        action=${html`<a class="button button--small" href="#/cron/new">${CHECKLIST.jobAction}</a>`} />
    </ol></section>`;
}

/** @param {{done: boolean, title: string, hint: string, action: import("../vendor/preact.js").Child}} props */
function Step({ done, title, hint, action }) {
  return html`<li class=${done ? "steps__done" : ""}><${Shape} tone=${done ? "ok" : "off"} size=${16} />
    <span class="steps__text">${title}${done ? html`<span class="visually-hidden">: ${CHECKLIST.done}</span>` : html`<br /><span class="muted">${hint}</span>`}</span>
    ${!done && html`<span class="row">${action}</span>`}</li>`;
}

/** @param {{channels: Channel[], sent: () => void}} props */
function FirstMessage({ channels, sent }) {
  const [name, setName] = useState(channels[0].channel);
  const chosen = channels.find((channel) => channel.channel === name) ?? channels[0];
  const [target, setTarget] = useState("");
  /** @param {{currentTarget: HTMLInputElement | HTMLSelectElement}} event */
  const value = (event) => event.currentTarget.value;
  const send = async () => {
    const body = { channel: chosen.channel, target: target || chosen.default_target || "", message: CHECKLIST.firstText };
    say(await api.post("/api/msg/send", body));
    sent();
  };
  return html`<span class="steps__form">
    ${channels.length > 1 && html`<select class="input" aria-label=${CHECKLIST.channel} onChange=${(/** @type {any} */ event) => setName(value(event))}>
      ${channels.map((channel) => html`<option value=${channel.channel}>${channel.label}</option>`)}</select>`}
    <input class="input" aria-label=${CHECKLIST.to} placeholder=${chosen.default_target ?? CHECKLIST.to} value=${target}
      onInput=${(/** @type {any} */ event) => setTarget(value(event))} />
    <${ActionButton} small run=${send}>${CHECKLIST.messageAction}<//></span>`;
}

/** @param {Channel} channel */
async function test(channel) {
  say(await api.post(url`/api/msg/test/${channel.channel}`));
}

/** @param {import("../types/records.js").SendResult} result */
function say(result) {
  if (result.ok) toast.ok(result.message || CHECKLIST.done);
  else toast.problem(new Error(result.error));
}

/** @returns {Promise<Found>} */
async function readSteps() {
  const [channels, settings] = await Promise.all([api.get("/api/msg/channels"), api.get("/api/settings/overview")]);
  const warnings = settings.security?.warnings ?? [];
  return { channels: channels.items, safe: !warnings.some((/** @type {any} */ warning) => /password/i.test(warning.code)) };
}
