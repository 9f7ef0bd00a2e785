// One field of a form: label, hint, control and error, connected for screen readers.
import { html, useState } from "../vendor/preact.js";
import { browserZone } from "../lib/format.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { Shape } from "../parts/status.js";
import { FORM } from "../strings/states.js";

/** @typedef {import("../vendor/preact.js").Child} Child */
/**
 * @typedef {object} FieldSpec
 * @property {string} name  Also the pointer of a problem: `retry/delay_seconds`.
 * @property {string} label
 * @property {"text" | "password" | "area" | "code" | "number" | "check" | "select" | "time" | "list" | "map" | "json" | "custom"} [type]
 * @property {Child} [hint]
 * @property {boolean} [required]
 * @property {[value: string, word: string][]} [options]  For `select`.
 * @property {string[]} [suggestions]  For `text`.
 * @property {string} [placeholder]
 * @property {number} [min]
 * @property {number} [max]
 * @property {number | "any"} [step]
 * @property {boolean} [wide]  Over the whole width.
 * @property {boolean} [focus]  Gets the focus first.
 * @property {boolean} [emptyIsNull]  An empty text is sent as null.
 * @property {(values: Record<string, any>) => boolean} [when]  Shown only then.
 * @property {(props: ControlProps) => Child} [draw]  For `custom`.
 */
/**
 * @typedef {object} ControlProps
 * @property {string} id
 * @property {any} value
 * @property {(value: any) => void} set
 * @property {Record<string, any>} values
 * @property {Record<string, any>} aria  Put these on the control.
 * @property {FieldSpec} spec
 */

/**
 * @param {{spec: FieldSpec, value: any, values: Record<string, any>, problem?: string, change: (name: string, value: unknown) => void}} props
 */
export function Field({ spec, value, values, problem, change }) {
  const id = `field-${spec.name.replace(/\W/g, "-")}`;
  const zone = spec.type === "time" && FORM.zone(browserZone());
  const hint = spec.hint || zone ? html`${spec.hint}${spec.hint && zone && " "}${zone}` : null;
  const notes = [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(" ");
  const aria = { "aria-invalid": problem ? "true" : undefined, "aria-describedby": notes || undefined, "aria-required": spec.required || undefined };
  const set = (/** @type {unknown} */ next) => change(spec.name, next);
  const control = { id, value, set, values, aria, spec };
  const below = html`${hint && html`<span class="field__hint" id=${`${id}-hint`}>${hint}</span>`}
    ${problem && html`<span class="field__problem" id=${`${id}-problem`} role="alert"><${Shape} tone="bad" /><${Said} text=${problem} /></span>`}`;
  if (spec.type === "check") {
    return html`<div class="field"><label class="check"><input type="checkbox" id=${id} checked=${Boolean(value)} ...${aria}
      onChange=${(/** @type {any} */ event) => set(event.currentTarget.checked)} /> ${spec.label}</label>${below}</div>`;
  }
  const wide = spec.wide || ["area", "code", "map", "json", "custom"].includes(spec.type ?? "");
  return html`<div class=${`field${wide ? " field--wide" : ""}`}>
    <label class="field__label" for=${id}>${spec.label}${spec.required && html`<span class="field__required" aria-hidden="true"> *</span>`}</label>
    ${spec.draw ? spec.draw(control) : html`<${Control} ...${control} />`}${below}
  </div>`;
}

/** @param {ControlProps} props */
function Control(props) {
  const { id, value, set, aria, spec } = props;
  const onInput = (/** @type {any} */ event) => set(event.currentTarget.value);
  const common = { id, class: "input", placeholder: spec.placeholder, autofocus: spec.focus, onInput, ...aria };
  switch (spec.type) {
    case "area":
    case "code":
      return html`<textarea ...${common} class=${`input${spec.type === "code" ? " input--mono" : ""}`} rows="4" spellcheck=${spec.type !== "code"} value=${value ?? ""} dir="auto"></textarea>`;
    case "number":
      return html`<input ...${common} type="number" inputmode="decimal" min=${spec.min} max=${spec.max} step=${spec.step ?? "any"} value=${value ?? ""}
        onInput=${(/** @type {any} */ event) => set(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))} />`;
    case "select":
      return html`<select ...${common} onChange=${onInput} onInput=${undefined}>${spec.options?.map(([one, word]) => html`<option value=${one} selected=${one === (value ?? "")}>${word}</option>`)}</select>`;
    case "time":
      return html`<input ...${common} type="datetime-local" value=${localOf(value)} onInput=${(/** @type {any} */ event) => set(isoOf(event.currentTarget.value))} />`;
    case "list":
      return html`<${TextOf} ...${props} write=${(/** @type {any} */ list) => (list ?? []).join(", ")} read=${(/** @type {string} */ text) => text.split(",").map((part) => part.trim()).filter(Boolean)} />`;
    case "json":
      return html`<${TextOf} ...${props} area write=${(/** @type {any} */ data) => (data === undefined || data === null ? "" : JSON.stringify(data, null, 2))} read=${jsonOf} />`;
    case "map":
      return html`<${MapControl} ...${props} />`;
    default:
      return html`<input ...${common} type=${spec.type ?? "text"} list=${spec.suggestions ? `${id}-list` : undefined} value=${value ?? ""} dir="auto" autocomplete="off"
          spellcheck=${false} />${spec.suggestions && html`<datalist id=${`${id}-list`}>${spec.suggestions.map((one) => html`<option value=${one}></option>`)}</datalist>`}`;
  }
}

/**
 * A value that is typed as text: the typed text is kept, even if it is not valid yet.
 * @param {ControlProps & {area?: boolean, write: (value: any) => string, read: (text: string) => any}} props
 */
function TextOf({ id, value, set, aria, spec, area = false, write, read }) {
  const [text, setText] = useState(() => write(value));
  const shown = value instanceof Error || JSON.stringify(read(text)) === JSON.stringify(value) ? text : write(value);
  const onInput = (/** @type {any} */ event) => {
    setText(event.currentTarget.value);
    set(read(event.currentTarget.value));
  };
  const common = { id, placeholder: spec.placeholder, value: shown, onInput, dir: "auto", ...aria };
  return area ? html`<textarea ...${common} class="input input--mono" rows="4" spellcheck=${false}></textarea>` : html`<input ...${common} class="input" autocomplete="off" />`;
}

/** @param {ControlProps} props */
function MapControl({ id, value, set, aria, spec }) {
  const [rows, setRows] = useState(() => /** @type {[string, string][]} */ (Object.entries(value ?? {}).map(([key, one]) => [key, String(one)])));
  /** @param {[string, string][]} next */
  const take = (next) => {
    setRows(next);
    set(Object.fromEntries(next.filter(([key]) => key)));
  };
  /** @param {number} index @param {number} part @param {string} text */
  const edit = (index, part, text) => take(rows.map((row, at) => (at === index ? /** @type {[string, string]} */ (part ? [row[0], text] : [text, row[1]]) : row)));
  return html`<div class="map" role="group" aria-label=${spec.label} id=${id} tabindex="-1" aria-describedby=${aria["aria-describedby"]}>
    ${rows.map(([key, one], index) => html`<div class="map__row" key=${index}>
      <input class="input input--mono" aria-label=${`${FORM.key} ${index + 1}`} placeholder=${FORM.key} value=${key} onInput=${(/** @type {any} */ event) => edit(index, 0, event.currentTarget.value)} />
      <input class="input input--mono" aria-label=${`${FORM.value} ${index + 1}`} placeholder=${FORM.value} value=${one} onInput=${(/** @type {any} */ event) => edit(index, 1, event.currentTarget.value)} />
      <button type="button" class="icon-button" aria-label=${`${FORM.remove} ${key || index + 1}`} onClick=${() => take(rows.filter((_, at) => at !== index))}><${Icon} name="close" size=${15} /></button></div>`)}
    <button type="button" class="button button--small" onClick=${() => take([...rows, ["", ""]])}><${Icon} name="plus" size=${14} />${FORM.add}</button>
  </div>`;
}

/** @param {string} text */
function jsonOf(text) {
  if (!text.trim()) return null;
  try {
    return JSON.parse(text);
  } catch {
    return new Error(FORM.notJson);
  }
}

/** @param {string | null | undefined} iso  The field shows the browser's zone. */
function localOf(iso) {
  const date = iso ? new Date(iso) : null;
  if (!date || Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toJSON().slice(0, 16);
}

/** @param {string} local */
function isoOf(local) {
  const date = new Date(local);
  return local && !Number.isNaN(date.getTime()) ? date.toJSON() : null;
}
