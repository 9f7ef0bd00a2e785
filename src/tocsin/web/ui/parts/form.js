// A form generated from a description of its fields: server errors are shown at their field, input is kept.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { ApiProblem } from "../lib/api.js";
import { draftOf, dropDraft, keepDraft } from "../lib/drafts.js";
import { Field } from "../parts/field.js";
import { Failure } from "../parts/states.js";
import { FORM, PARTS } from "../strings/states.js";

/** @typedef {import("../parts/field.js").FieldSpec} FieldSpec */
/** @typedef {Record<string, any>} Values  By the name of the field; `retry/delay_seconds` is a key of `retry`. */
/**
 * @typedef {object} FormProps
 * @property {FieldSpec[]} fields
 * @property {Record<string, any>} values  The record at first, nested as the API has it.
 * @property {(record: Record<string, any>, changed: Record<string, any>) => Promise<unknown>} submit
 *   Gets the whole record, and what differs from `values` (for a merge patch).
 * @property {string} [submitLabel]
 * @property {string} [draft]  A name under which what is typed survives a reload.
 * @property {string | (() => void)} [cancel]  An address, or what is called.
 * @property {(record: Record<string, any>) => void} [onChange]  Hears each change, such as for a preview.
 * @property {string} [label]
 */

/** @param {FormProps} props */
export function Form({ fields, values: first, submit, submitLabel = FORM.save, draft, cancel, onChange, label }) {
  const kept = useRef(/** @type {Values | undefined} */ (draft ? /** @type {any} */ (draftOf(draft)) : undefined));
  const [values, setValues] = useState(() => ({ ...flat(fields, first), ...kept.current }));
  const [problems, setProblems] = useState(/** @type {Record<string, string>} */ ({}));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [busy, setBusy] = useState(false);
  const [restored, setRestored] = useState(kept.current !== undefined);
  const root = useRef(/** @type {HTMLFormElement | null} */ (null));
  const shown = fields.filter((field) => !field.when || field.when(values));
  useEffect(() => onChange?.(nested(shown, values)), [values]);
  useEffect(() => void (Object.keys(problems).length && focusFirst(root.current)), [problems]);

  /** @param {string} name @param {unknown} value */
  const change = (name, value) => {
    const next = { ...values, [name]: value };
    setValues(next);
    if (draft) keepDraft(draft, next);
    if (problems[name]) setProblems(({ [name]: _, ...others }) => others);
  };
  const startOver = () => {
    if (draft) dropDraft(draft);
    setRestored(false);
    setValues(flat(fields, first));
  };
  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    if (busy) return;
    const missing = check(shown, values);
    setError(null);
    setProblems(missing);
    if (Object.keys(missing).length) return;
    setBusy(true);
    try {
      const record = nested(shown, values);
      await submit(record, changes(first, record));
      if (draft) dropDraft(draft);
    } catch (problem) {
      const told = problem instanceof ApiProblem ? Object.entries(problem.fields) : [];
      const mine = told.map(([name, text]) => [ownerOf(shown, name), text]).filter(([name]) => name);
      setProblems(Object.fromEntries(mine));
      if (!mine.length) setError(problem);
      else if (mine.length < told.length) setError(withoutFields(/** @type {ApiProblem} */ (problem), shown)); // what stands at its field is not said twice
    }
    setBusy(false);
  };
  return html`<form class="form" ref=${root} onSubmit=${send} novalidate aria-label=${label}>
    ${restored && html`<p class="notice notice--info">${FORM.draft} <button type="button" class="button button--small" onClick=${startOver}>${FORM.discard}</button></p>`}
    ${error && html`<${Failure} error=${error} compact />`}
    <div class="form__fields">${shown.map((field) => html`<${Field} key=${field.name} spec=${field} value=${values[field.name]} values=${values}
      problem=${problems[field.name]} change=${change} />`)}</div>
    <div class="form__foot"><button class="button button--primary" aria-disabled=${busy}>${busy ? FORM.busy : submitLabel}</button>
      ${typeof cancel === "string" ? html`<a class="button" href=${cancel}>${PARTS.cancel}</a>` : cancel && html`<button type="button" class="button" onClick=${cancel}>${PARTS.cancel}</button>`}</div>
  </form>`;
}

/** @param {HTMLFormElement | null} form */
function focusFirst(form) {
  /** @type {HTMLElement | null | undefined} */ (form?.querySelector("[aria-invalid=true]"))?.focus();
}

/**
 * Return the field of a server's pointer: the field itself, or the one that contains it (`tags/0` is in `tags`).
 * @param {FieldSpec[]} fields
 * @param {string} pointer
 */
function ownerOf(fields, pointer) {
  const names = fields.map((field) => field.name);
  if (names.includes(pointer)) return pointer;
  return names.find((name) => pointer.startsWith(`${name}/`)) ?? "";
}

/** @param {ApiProblem} problem @param {FieldSpec[]} fields @returns {ApiProblem} */
function withoutFields({ code, title, errors }, fields) {
  return new ApiProblem({ code, title, errors: errors.filter(({ pointer = "" }) => !ownerOf(fields, pointer.slice(2))) });
}

/** @param {FieldSpec[]} fields @param {Record<string, any>} record @returns {Values} */
function flat(fields, record) {
  return Object.fromEntries(fields.map(({ name }) => [name, name.split("/").reduce((inner, key) => inner?.[key], /** @type {any} */ (record))]));
}

/** @param {FieldSpec[]} fields @param {Values} values */
function nested(fields, values) {
  /** @type {Record<string, any>} */
  const record = {};
  for (const field of fields) {
    const keys = field.name.split("/");
    const last = /** @type {string} */ (keys.pop());
    const holder = keys.reduce((inner, key) => (inner[key] ??= {}), record);
    const value = values[field.name];
    if (value !== undefined) holder[last] = value === "" && field.emptyIsNull ? null : value;
  }
  return record;
}

/** @param {Record<string, any>} before @param {Record<string, any>} after */
function changes(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(before[name] ?? null) !== JSON.stringify(value)));
}

/** @param {FieldSpec[]} fields @param {Values} values */
function check(fields, values) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const { name, required, type } of fields) {
    const value = values[name];
    const none = value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length);
    if (required && none) found[name] = FORM.required;
    else if (type === "number" && !none && !Number.isFinite(value)) found[name] = FORM.notNumber;
    else if (type === "json" && value instanceof Error) found[name] = FORM.notJson;
  }
  return found;
}
