// The step that proves that notices reach a person: a test message, and the question whether it arrived.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Form } from "tocsin/parts/form.js";
import { Failure } from "tocsin/parts/states.js";
import { toast } from "tocsin/parts/toast.js";
import { FIRST_NOTICE } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Channel} Channel */
/** @typedef {import("tocsin/types/records.js").ChannelSettings} ChannelSettings */
/** @typedef {{channel: string, target: string}} Sent */

/** @param {import("tocsin/lib/manifest.js").StepFormProps & {channels: Channel[]}} props */
export function StepForm({ channels, done, close }) {
  const first = { channel: channels[0]?.channel ?? "", target: channels[0]?.default_target ?? "" };
  const [draft, setDraft] = useState(/** @type {Sent} */ (first)); // what was sent is offered again
  const [sent, setSent] = useState(/** @type {Sent | null} */ (null));
  if (!channels.length) return html`<p class="muted">${FIRST_NOTICE.needsChannel}</p>`;
  if (sent) return html`<${Question} sent=${sent} again=${() => setSent(null)} done=${done} close=${close} />`;
  const send = async (/** @type {Record<string, any>} */ { channel, target }) => {
    const answer = await api.post("/api/msg/send", { channel, target, message: FIRST_NOTICE.text });
    if (!answer.ok) throw new Error(answer.error);
    setDraft({ channel, target });
    setSent({ channel, target });
  };
  /** @type {import("tocsin/parts/field.js").FieldSpec[]} */
  const fields = [
    { name: "channel", label: FIRST_NOTICE.channel, type: "select", required: true, options: channels.map(({ channel, label }) => [channel, label]) },
    { name: "target", label: FIRST_NOTICE.target, required: true, type: "custom", draw: drawTarget },
  ];
  return html`<${Form} label=${FIRST_NOTICE.title} fields=${fields} values=${draft} submit=${send}
    submitLabel=${FIRST_NOTICE.send} cancel=${close} />`;
}

/** The hint depends on the chosen channel. @param {import("tocsin/parts/field.js").ControlProps} control */
function drawTarget({ id, value, set, values, aria }) {
  const { settings } = useChannel(values.channel);
  return html`<input id=${id} class="input" value=${value ?? ""} dir="auto" autocomplete="off" spellcheck=${false} ...${aria} onInput=${(/** @type {any} */ event) => set(event.currentTarget.value)} />
    <span class="field__hint">${settings?.target_format ?? ""}</span>`;
}

/** @param {string} channel */
function useChannel(channel) {
  const [settings, setSettings] = useState(/** @type {ChannelSettings | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const read = () => {
    setError(null);
    api.get(url`/api/settings/channels/${channel}`).then(setSettings, setError);
  };
  useEffect(read, [channel]);
  return { settings, error, read };
}

/** @param {{sent: Sent, again: () => void, done: () => void, close: () => void}} props */
function Question({ sent, again, done, close }) {
  const [lost, setLost] = useState(false);
  const confirm = async () => {
    const answer = await api.post("/api/notifications/target", sent);
    toast.ok(FIRST_NOTICE.kept(answer.profile));
    close();
    done();
  };
  return html`<p role="status"><strong>${FIRST_NOTICE.question}</strong> <span class="muted" dir="auto">${FIRST_NOTICE.sent(sent.target)}</span></p>
    <p class="row"><${ActionButton} kind="primary" run=${confirm}>${FIRST_NOTICE.yes}<//>
      ${lost ? html`<button type="button" class="button" onClick=${again}>${FIRST_NOTICE.again}</button>` : html`<button type="button" class="button" onClick=${() => setLost(true)}>${FIRST_NOTICE.no}</button>`}</p>
    ${lost && html`<${Remedies} channel=${sent.channel} />`}`;
}

/** @param {{channel: string}} props */
function Remedies({ channel }) {
  const { settings, error, read } = useChannel(channel);
  if (error) return html`<${Failure} error=${error} retry=${read} compact />`;
  return settings && html`<div><p>${FIRST_NOTICE.check}</p><ul class="steps__checks">${settings.arrival.map((text) => html`<li>${text}</li>`)}
    <li>${FIRST_NOTICE.phone(settings.label)}</li></ul><p><a href=${settings.docs}>${FIRST_NOTICE.guide(settings.label)}</a></p></div>`;
}
