// The fields of a message besides its text.
import { html } from "../vendor/preact.js";
import { Field } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../parts/field.js").FieldSpec} FieldSpec */
/** @typedef {{action?: string, label?: string, url?: string, name?: string, value?: string}} Button  Of `view` or `call`; more fields are kept. */

/** @type {FieldSpec[]} */
const FIELDS = [
  { name: "title", label: MSG.fields.title ?? "", wide: true },
  { name: "format", label: MSG.fields.format ?? "", type: "select" },
  { name: "type", label: MSG.fields.type ?? "", type: "select", options: MSG.types },
  { name: "priority", label: MSG.fields.priority ?? "", type: "select", options: MSG.priorities.map(([value, word]) => [value, word]) },
  { name: "click", label: MSG.fields.click ?? "", placeholder: "https://", hint: MSG.clickHint, wide: true },
  { name: "actions", label: MSG.fields.actions ?? "", type: "custom", draw: Buttons },
  { name: "mention", label: MSG.fields.mention ?? "", type: "list", placeholder: "@here, @anna", hint: MSG.mentionHint, wide: true },
  { name: "key", label: MSG.fields.key ?? "", placeholder: "disk-web1", hint: MSG.keyHint },
  { name: "thread", label: MSG.fields.thread ?? "", placeholder: "alerts", hint: MSG.threadHint },
  { name: "if_gone", label: MSG.fields.if_gone ?? "", type: "select", options: MSG.ifGone, when: ({ key }) => Boolean(key) },
  { name: "unable", label: MSG.fields.unable ?? "", type: "select", options: MSG.unable, when: ({ key }) => Boolean(key) },
  { name: "ttl", label: MSG.fields.ttl ?? "", type: "number", min: 0, step: 1, placeholder: "3600", hint: MSG.ttlHint },
  { name: "silent", label: MSG.fields.silent ?? "", type: "check" },
];

/**
 * Return the fields that are filled in, as the operations take them.
 * @param {Record<string, any>} fields
 */
export function given(fields) {
  const shown = FIELDS.filter(({ when }) => !when || when(fields)).map(({ name }) => [name, fields[name]]);
  const filled = shown.map(([name, value]) => [name, name === "actions" ? (value ?? []).filter((/** @type {Button} */ one) => one.label || one.url || one.name) : value]);
  return Object.fromEntries(filled.filter(([, value]) => Array.isArray(value) ? value.length : value));
}

/** @param {{fields: Record<string, any>, change: (fields: Record<string, any>) => void, problems: Record<string, string>, modes: string[]}} props */
export function MoreFields({ fields, change, problems, modes }) {
  const count = Object.keys(given(fields)).length;
  const formats = [...MSG.formats, ...modes.filter((mode) => mode !== "plain").map((mode) => [mode, mode])];
  const wrong = FIELDS.some(({ name }) => problemOf(name, problems));
  return html`<details class="composer__more" open=${wrong || undefined}><summary>${MSG.more}${count > 0 && html` <span class="count">${MSG.set(count)}</span>`}</summary>
    <div class="form__fields">${FIELDS.filter(({ when }) => !when || when(fields)).map((spec) => html`<${Field} key=${spec.name}
      spec=${spec.name === "format" ? { ...spec, options: formats } : spec} value=${fields[spec.name]} values=${fields} problem=${problemOf(spec.name, problems)}
      change=${(/** @type {string} */ name, /** @type {unknown} */ value) => change({ ...fields, [name]: value })} />`)}</div></details>`;
}

/** The problem of a field, or of a part of it. @param {string} name @param {Record<string, string>} problems */
export function problemOf(name, problems) {
  const [found] = Object.entries(problems).filter(([pointer]) => pointer === name || pointer.startsWith(`${name}/`));
  return found?.[1];
}

/** Rows of what a button does, its label, and its address or what its press starts. @param {import("../parts/field.js").ControlProps} props */
function Buttons({ id, value, set, aria, spec }) {
  const rows = /** @type {Button[]} */ (value ?? []);
  /** @param {number} at @param {Button} change */
  const edit = (at, change) => set(rows.map((row, index) => (index === at ? { ...row, ...change } : row)));
  return html`<div class="map" role="group" aria-label=${spec.label} id=${id} tabindex="-1" aria-describedby=${aria["aria-describedby"]}>
    ${rows.map((row, index) => html`<div class="map__row composer__button" key=${index}>
      <select class="input" aria-label=${MSG.buttonKind(index + 1)} onChange=${(/** @type {any} */ event) => edit(index, { action: event.currentTarget.value, url: "", name: "", value: "" })}>
        ${MSG.buttonKinds.map(([kind, word]) => html`<option value=${kind} selected=${kind === (row.action ?? "view")}>${word}</option>`)}</select>
      <input class="input" aria-label=${MSG.buttonLabel(index + 1)} placeholder=${MSG.label} value=${row.label ?? ""} dir="auto" onInput=${(/** @type {any} */ event) => edit(index, { label: event.currentTarget.value })} />
      ${row.action === "call" ? html`<input class="input" aria-label=${MSG.buttonName(index + 1)} placeholder="job:cleanup" value=${row.name ?? ""} onInput=${(/** @type {any} */ event) => edit(index, { name: event.currentTarget.value })} />
        <input class="input" aria-label=${MSG.buttonValue(index + 1)} placeholder=${MSG.value} value=${row.value ?? ""} onInput=${(/** @type {any} */ event) => edit(index, { value: event.currentTarget.value })} />`
      : html`<input class="input" aria-label=${MSG.buttonAddress(index + 1)} placeholder="https://" value=${row.url ?? ""} onInput=${(/** @type {any} */ event) => edit(index, { url: event.currentTarget.value })} />`}
      <button type="button" class="icon-button" aria-label=${MSG.removeButton(row.label || String(index + 1))} onClick=${() => set(rows.filter((_, at) => at !== index))}><${Icon} name="close" size=${15} /></button></div>`)}
    ${rows.length < 5 && html`<button type="button" class="button button--small" onClick=${() => set([...rows, {}])}><${Icon} name="plus" size=${14} />${MSG.addButton}</button>`}
  </div>`;
}
