// First steps on a new installation.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { MANIFEST } from "../lib/manifest.js";
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
  const read = () => readSteps().then(setFound, () => undefined); // Home works without them
  useEffect(() => void read(), []);
  if (away || !found) return null;
  const configured = found.channels.filter((channel) => channel.configured);
  const tested = configured.some((channel) => channel.last_test?.ok);
  const sent = configured.some((channel) => channel.last_sent_at);
  const further = MANIFEST.first_steps.map((step) => (report.subsystems[step.subsystem]?.counts[step.count] ?? 0) > 0);
  const steps = [found.safe, configured.length > 0, Boolean(tested), Boolean(sent), ...further];
  const done = steps.filter(Boolean).length;
  const mark = (/** @type {number} */ index) => ({ number: index + 1, done: steps[index], next: steps.indexOf(false) === index });
  const needsChannel = !configured.length && html`<span class="muted">${CHECKLIST.needsChannel}</span>`;
  return html`<section class="panel steps" aria-labelledby="first-steps"><div class="panel__head">
      <h2 id="first-steps">${CHECKLIST.title}</h2><span class="row"><span class="muted">${CHECKLIST.progress(done, steps.length)}</span>
      <button type="button" class="button button--small" onClick=${() => hidden.set(true)}>${CHECKLIST.hide}</button></span></div>
    <ol>
      <${Step} ...${mark(0)} title=${CHECKLIST.password} hint=${CHECKLIST.passwordHint} action=${html`<code>tocsin init</code>`} />
      <${Step} ...${mark(1)} title=${CHECKLIST.channel} hint=${CHECKLIST.channelHint}
        action=${html`<${ConnectChannel} channels=${found.channels} connected=${read} />`} />
      <${Step} ...${mark(2)} title=${CHECKLIST.test} hint=${CHECKLIST.testHint}
        action=${needsChannel || configured.map((channel) => html`<${ActionButton} small run=${() => test(channel).then(read)}>${CHECKLIST.testAction(channel.label)}<//>`)} />
      <${Step} ...${mark(3)} title=${CHECKLIST.message} hint=${CHECKLIST.messageHint} action=${needsChannel || html`<${FirstMessage} channels=${configured} sent=${read} />`} />
      ${MANIFEST.first_steps.map(({ title, hint, action, address }, index) => html`<${Step} ...${mark(index + 4)} title=${title} hint=${hint}
        action=${html`<a class="button button--small" href=${address}>${action}</a>`} />`)}
    </ol></section>`;
}

/** @param {{number: number, done: boolean, next: boolean, title: string, hint: string, action: import("../vendor/preact.js").Child}} props */
function Step({ number, done, next, title, hint, action }) {
  return html`<li class=${done ? "steps__done" : next ? "steps__next" : ""}>
    ${done ? html`<${Shape} tone="ok" size=${20} />` : html`<span class="steps__number" aria-hidden="true">${number}</span>`}
    <span class="steps__text"><strong>${title}</strong>${done ? html`<span class="visually-hidden">: ${CHECKLIST.done}</span>` : html`<br /><span class="muted">${hint}</span>`}</span>
    ${!done && html`<span class="row">${action}</span>`}</li>`;
}

/** The form is loaded when it is wanted. @param {{channels: Channel[], connected: () => Promise<void>}} props */
function ConnectChannel({ channels, connected }) {
  const [form, setForm] = useState(/** @type {{view: unknown} | null} */ (null));
  const open = () => import("../pages/home_connect.js").then((module) => setForm({ view: module.ConnectForm }));
  if (!form) return html`<${ActionButton} small run=${open}>${CHECKLIST.channelAction}<//>`;
  return html`<${form.view} channels=${channels.filter((channel) => channel.available)} connected=${connected} close=${() => setForm(null)} />`;
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
