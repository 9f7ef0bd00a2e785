// Connect a channel: its required settings as a form, verified and stored by the server.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { Form } from "../parts/form.js";
import { Said } from "../parts/said.js";
import { toast } from "../parts/toast.js";
import { CHECKLIST } from "../strings/home_steps.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").ChannelSettings} ChannelSettings */

/** @param {{channels: Channel[], connected: () => Promise<void>, close: () => void}} props */
export function ConnectForm({ channels, connected, close }) {
  const [kind, setKind] = useState(channels[0]?.channel ?? "");
  const [found, setFound] = useState(/** @type {ChannelSettings | null} */ (null));
  useEffect(() => {
    setFound(null);
    api.get(url`/api/settings/channels/${kind}`).then(setFound, toast.problem);
  }, [kind]);
  return html`<div class="steps__connect">
    <label class="field"><span class="field__label">${CHECKLIST.product}</span>
      <select class="input" value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.currentTarget.value)}>
        ${channels.map((channel) => html`<option value=${channel.channel}>${channel.label}</option>`)}</select></label>
    ${found && html`<p class="muted"><a href=${found.docs}>${CHECKLIST.guide(found.label)}</a>. ${CHECKLIST.stored(found.file)}</p>
      <${Credentials} key=${kind} settings=${found} connected=${connected} close=${close} />`}
  </div>`;
}

/** @param {{settings: ChannelSettings, connected: () => Promise<void>, close: () => void}} props */
function Credentials({ settings, connected, close }) {
  const { channel, label, items } = settings;
  const required = items.filter((item) => item.required);
  const fields = required.filter((item) => !item.fixed_by).map((item) => ({
    name: `settings/${item.key}`,
    label: item.key,
    hint: html`<${Said} text=${item.description} />`,
    type: /** @type {"password" | "text"} */ (item.secret ? "password" : "text"),
    required: true,
    wide: true,
  }));
  const values = { settings: Object.fromEntries(required.map((item) => [item.key, item.value])) };
  const submit = async (/** @type {Record<string, any>} */ record) => {
    const answer = await api.post(url`/api/settings/channels/${channel}`, record);
    toast.ok(CHECKLIST.connected(label, answer.restart_required ? `${answer.message}. ${CHECKLIST.restart}` : answer.message));
    close();
    await connected();
  };
  const fixed = required.filter((item) => item.fixed_by);
  return html`${fixed.length > 0 && html`<ul class="muted">${fixed.map((item) => html`<li><code>${item.key}</code>: ${CHECKLIST.fixed(item.fixed_by)}</li>`)}</ul>`}
    ${fields.length > 0 && html`<${Form} fields=${fields} values=${values} submit=${submit} submitLabel=${CHECKLIST.connect} cancel=${close} label=${label} />`}`;
}
