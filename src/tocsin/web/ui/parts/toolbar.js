// The toolbar of a list: the filter, choices, and actions.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { setQuery } from "../lib/router.js";
import { Icon } from "../parts/icon.js";
import { TABLE } from "../strings/states.js";

/** @typedef {import("../vendor/preact.js").Child} Child */

const PAUSE_MS = 250;

/** @param {{children?: Child, label?: string}} props */
export function Toolbar({ children, label = TABLE.toolbar }) {
  return html`<div class="toolbar" role="group" aria-label=${label}>${children}</div>`;
}

/**
 * The field that `/` focuses. It keeps its text in the query of the address; `onText` is called at each key.
 * @param {{value?: string, label?: string, name?: string, onText?: (text: string) => void}} props
 *   `name` is the one in the query; give it an empty one where only `onText` shall hear of it.
 */
export function FilterBox({ value = "", label = TABLE.filter, name = "q", onText }) {
  const [text, setText] = useState(value);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  /** @param {string} next */
  const take = (next) => {
    setText(next);
    onText?.(next);
    clearTimeout(timer.current);
    if (name) timer.current = setTimeout(() => setQuery({ [name]: next }), PAUSE_MS);
  };
  /** @param {KeyboardEvent & {currentTarget: HTMLInputElement}} event */
  const onKey = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (text) take("");
    else event.currentTarget.blur(); // the shortcuts of the page work again
  };
  return html`<label class="filter"><${Icon} name="search" size=${15} /><span class="visually-hidden">${label}</span>
    <input type="search" data-filter class="input" placeholder=${label} value=${text} autocomplete="off" spellcheck=${false}
      onInput=${(/** @type {any} */ event) => take(event.currentTarget.value)} onKeyDown=${onKey} /></label>`;
}

/**
 * A choice that is stored in the query of the address; the first option is the default.
 * @param {{name: string, label: string, value?: string, options: [value: string, word: string][]}} props
 */
export function Choice({ name, label, value = "", options }) {
  /** @param {{currentTarget: HTMLSelectElement}} event */
  const choose = (event) => setQuery({ [name]: event.currentTarget.value });
  return html`<label class="choice"><span>${label}</span><select class="input" onChange=${choose}>
    ${options.map(([one, word]) => html`<option value=${one} selected=${one === value}>${word}</option>`)}</select></label>`;
}
