// A native dialog: it keeps the focus, and Esc closes it.
import { html, render, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { Failure } from "../parts/states.js";
import { DIALOG, PARTS } from "../strings/states.js";

/** @typedef {import("../vendor/preact.js").Child} Child */

const FIELD = ".dialog__body :is(input, select, textarea):not(:disabled)";

/**
 * @param {{title: string, close: () => void, children?: Child, foot?: Child, wide?: boolean}} props
 *   The focus goes to what has `autofocus`, else to the first field, else to the first button.
 */
export function Dialog({ title, close, children, foot, wide = false }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    const first = shown?.querySelector("[autofocus]") ?? shown?.querySelector(FIELD);
    if (first instanceof HTMLElement) first.focus();
    addEventListener("hashchange", close); // its page is gone
    return () => {
      removeEventListener("hashchange", close);
      shown?.close(); // while it is open, nothing behind it gets the focus
      // The element that opened it may have been removed with its record.
      const next = before instanceof HTMLElement && before.isConnected ? before : document.getElementById("content");
      next?.focus();
    };
  }, []);
  /** @param {Event} event */
  const cancel = (event) => {
    event.preventDefault();
    close();
  };
  /** @param {MouseEvent} event */
  const outside = (event) => {
    if (event.target === dialog.current) close();
  };
  return html`<dialog class=${`dialog${wide ? " dialog--wide" : ""}`} ref=${dialog} aria-label=${title} onCancel=${cancel} onMouseDown=${outside}>
    <div class="dialog__box">
      <div class="dialog__head"><h2 dir="auto">${title}</h2>
        <button type="button" class="icon-button" aria-label=${PARTS.close} onClick=${close}><${Icon} name="close" /></button></div>
      <div class="dialog__body">${children}</div>
      ${foot && html`<div class="dialog__foot">${foot}</div>`}
    </div>
  </dialog>`;
}

/**
 * Show a dialog above the page until it calls `close`.
 * @param {(close: () => void) => Child} draw
 */
export function openDialog(draw) {
  const host = document.createElement("div");
  document.body.append(host);
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(draw(close), host);
}

/** A field for typing the name of a record before it is deleted. @param {{name: string, typed: string, type: (text: string) => void}} props */
export function TypedName({ name, typed, type }) {
  return html`<label class="field"><span class="field__label">${DIALOG.typeName} <code dir="auto">${name}</code></span>
    <input class="input" value=${typed} autocomplete="off" spellcheck=${false}
      onInput=${(/** @type {any} */ event) => type(event.currentTarget.value)} /></label>`;
}

/**
 * @typedef {object} Question
 * @property {string} title  The effect as a question: `Delete disk-check?`
 * @property {Child} text  What happens, and what cannot be undone.
 * @property {string} action  What the button does: `Delete`.
 * @property {boolean} [danger]
 * @property {string} [typeName]  The person has to type this before the button works.
 * @property {(() => Promise<unknown>)} [work]  Done while the dialog is open, which shows what goes wrong.
 */

/**
 * Ask for confirmation before an irreversible action.
 * @param {Question} question
 * @returns {Promise<boolean>}  Whether the person agreed, and `work` was done.
 */
export function confirm(question) {
  return new Promise((answer) => openDialog((close) => {
    const end = (/** @type {boolean} */ agreed) => {
      close();
      answer(agreed);
    };
    return html`<${Confirm} question=${question} end=${end} />`;
  }));
}

/** @param {{question: Question, end: (agreed: boolean) => void}} props */
function Confirm({ question, end }) {
  const { title, text, action, danger = false, typeName, work } = question;
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const ready = !busy && (!typeName || typed === typeName);
  const agree = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      await work?.();
      end(true);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const foot = html`
    <button type="button" class="button" autofocus onClick=${() => end(false)}>${PARTS.cancel}</button>
    <button type="button" class=${`button ${danger ? "button--danger" : "button--primary"}`} disabled=${!ready} onClick=${agree}>
      ${busy ? DIALOG.busy : action}</button>`;
  return html`<${Dialog} title=${title} close=${() => end(false)} foot=${foot}>
    <div class="prose">${text}</div>
    ${typeName && html`<${TypedName} name=${typeName} typed=${typed} type=${setTyped} />`}
    ${error && html`<${Failure} error=${error} compact />`}
  <//>`;
}
