// Connect a channel: its settings as a form, verified and stored by the server.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { Form } from "../parts/form.js";
import { Said } from "../parts/said.js";
import { Failure } from "../parts/states.js";
import { toast } from "../parts/toast.js";
import { CHECKLIST } from "../strings/home_steps.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").ChannelSettings} ChannelSettings */

const OPTIONAL = "optional_settings"; // a value of the form, not a setting

/** @param {{channels: Channel[], connected: () => Promise<void>, close: () => void}} props */
export function ConnectForm({ channels, connected, close }) {
  const [kind, setKind] = useState(channels[0]?.channel ?? "");
  const [found, setFound] = useState(/** @type {ChannelSettings | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const read = () => {
    setFound(null);
    setError(null);
    api.get(url`/api/settings/channels/${kind}`).then(setFound, setError);
  };
  useEffect(read, [kind]);
  return html`<label class="field"><span class="field__label">${CHECKLIST.product}</span>
      <select class="input" value=${kind} onChange=${(/** @type {any} */ event) => setKind(event.currentTarget.value)}>
        ${channels.map((channel) => html`<option value=${channel.channel}>${channel.label}</option>`)}</select></label>
    ${error && html`<${Failure} error=${error} retry=${read} compact />`}
    ${found && html`<p class="muted"><a href=${found.docs}>${CHECKLIST.guide(found.label)}</a>. ${CHECKLIST.stored(found.file)}</p>
      <${Credentials} key=${kind} settings=${found} connected=${connected} close=${close} />`}`;
}

/** @param {{settings: ChannelSettings, connected: () => Promise<void>, close: () => void}} props */
function Credentials({ settings, connected, close }) {
  const { channel, label, items } = settings;
  const [fixed, free] = [items.filter((item) => item.fixed_by), items.filter((item) => !item.fixed_by)];
  const optional = free.filter((item) => !item.required);
  const fields = [
    ...free.filter((item) => item.required).map(fieldOf),
    ...(optional.length ? [{ name: OPTIONAL, label: CHECKLIST.optional, type: /** @type {"check"} */ ("check") }] : []),
    ...optional.map((item) => ({ ...fieldOf(item), when: (/** @type {Record<string, any>} */ values) => Boolean(values[OPTIONAL]) })),
  ];
  const values = { settings: Object.fromEntries(free.map((item) => [item.key, itemValue(item)])) };
  const submit = async (/** @type {Record<string, any>} */ record) => {
    // What is optional and unchanged is not written down.
    const given = free.filter((item) => item.required || (record.settings[item.key] ?? itemValue(item)) !== itemValue(item));
    const body = { settings: Object.fromEntries(given.map(({ key }) => [key, record.settings[key]])) };
    const answer = await api.post(url`/api/settings/channels/${channel}`, body);
    toast.ok(CHECKLIST.connected(label, answer.restart_required ? `${answer.message}. ${CHECKLIST.restart}` : answer.message));
    close();
    await connected();
  };
  return html`${fixed.length > 0 && html`<ul class="muted">${fixed.map((item) => html`<li><code>${item.key}</code>: ${CHECKLIST.fixed(item.fixed_by)}</li>`)}</ul>`}
    ${fields.length > 0 && html`<${Form} fields=${fields} values=${values} submit=${submit} submitLabel=${CHECKLIST.connect} cancel=${close} label=${label} />`}`;
}

/** A default is shown as an example. @param {ChannelSettings["items"][number]} item */
function itemValue(item) {
  return item.given ? item.value : "";
}

/** @param {ChannelSettings["items"][number]} item @returns {import("../parts/field.js").FieldSpec} */
function fieldOf(item) {
  return { name: `settings/${item.key}`, label: item.key, hint: html`<${Said} text=${item.description} />`, type: item.secret ? "password" : "text", placeholder: item.given ? "" : item.value, required: item.required, wide: true };
}
