// Short messages at the edge: successes disappear by themselves, failures stay until they are closed.
import { html, useEffect } from "../vendor/preact.js";
import { ApiProblem } from "../lib/api.js";
import { signal, useSignal } from "../lib/store.js";
import { CopyButton } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { RequestId } from "../parts/states.js";
import { Shape } from "../parts/status.js";
import { SHELL } from "../strings/shell.js";

/**
 * @typedef {object} ToastEntry
 * @property {number} id
 * @property {"ok" | "bad" | "info" | "warn"} tone
 * @property {string} text
 * @property {string} [detail]
 * @property {string} [requestId]
 * @property {{label: string, run: () => void}} [action]
 * @property {number} [stayMs]  Without it, the message stays.
 */

const STAY_MS = 5000;
const UNDO_MS = 8000;
const MOST = 5;
const toasts = signal(/** @type {ToastEntry[]} */ ([]));
let count = 0;

/** @param {Omit<ToastEntry, "id">} entry */
function add(entry) {
  count += 1;
  const id = count;
  toasts.update((all) => [...all, { ...entry, id }].slice(-MOST));
  return () => dismiss(id);
}

/** @param {number} id */
function dismiss(id) {
  toasts.update((all) => all.filter((entry) => entry.id !== id));
}

export const toast = {
  /** Report a success. @param {string} text @param {{label: string, run: () => void}} [action] */
  ok: (text, action) => add({ tone: "ok", text, action, stayMs: action ? UNDO_MS : STAY_MS }),
  /** Report neutral information. @param {string} text */
  info: (text) => add({ tone: "info", text, stayMs: STAY_MS }),
  /**
   * Report an action, and offer to undo it for eight seconds.
   * @param {string} text
   * @param {() => Promise<unknown>} takeBack
   */
  undo(text, takeBack) {
    const run = () => takeBack().then(() => void toast.ok(SHELL.toasts.undone), toast.problem);
    return add({ tone: "ok", text, stayMs: UNDO_MS, action: { label: SHELL.toasts.undo, run } });
  },
  /** Report a failure, in the server's words. @param {unknown} error @param {string} [title] */
  problem(error, title) {
    if (error instanceof DOMException && error.name === "AbortError") return () => undefined;
    const told = error instanceof ApiProblem ? error : null;
    const message = error instanceof Error ? error.message : String(error);
    const detail = told ? [told.detail, ...told.errors.map((entry) => entry.detail)].filter(Boolean).join(" ") : message;
    return add({ tone: "bad", text: title ?? told?.title ?? message, detail, requestId: told?.requestId });
  },
};

export function Toasts() {
  const all = useSignal(toasts);
  return html`<div class="toasts" role="status" aria-live="polite" aria-atomic="false" aria-label=${SHELL.toasts.region}>
    ${all.map((entry) => html`<${Toast} key=${entry.id} entry=${entry} />`)}
  </div>`;
}

/** @param {{entry: ToastEntry}} props */
function Toast({ entry }) {
  const { id, tone, text, detail, requestId, action, stayMs } = entry;
  useEffect(() => {
    if (!stayMs) return undefined;
    let timer = setTimeout(dismiss, stayMs, id);
    // It does not disappear under the pointer or the focus.
    const element = document.getElementById(`toast-${id}`);
    const hold = () => clearTimeout(timer);
    const release = () => (timer = setTimeout(dismiss, stayMs, id));
    element?.addEventListener("mouseenter", hold);
    element?.addEventListener("focusin", hold);
    element?.addEventListener("mouseleave", release);
    element?.addEventListener("focusout", release);
    return hold;
  }, [id]);
  const act = () => {
    dismiss(id);
    action?.run();
  };
  const copied = [text, detail, requestId].filter(Boolean).join("\n");
  return html`<div class=${`toast toast--${tone}`} id=${`toast-${id}`}>
    <${Shape} tone=${tone} size=${16} />
    <div class="toast__text">
      <p dir="auto" class=${detail ? "toast__title" : ""}>${text}</p>
      ${detail && detail !== text && html`<p class="toast__detail"><${Said} text=${detail} /></p>`}
      ${requestId && html`<p class="toast__detail"><${RequestId} id=${requestId} /></p>`}
    </div>
    ${action && html`<button type="button" class="button button--small" onClick=${act}>${action.label}</button>`}
    ${tone === "bad" && !requestId && html`<${CopyButton} text=${copied} />`}
    <button type="button" class="icon-button" aria-label=${SHELL.toasts.dismiss} onClick=${() => dismiss(id)}>
      <${Icon} name="close" size=${15} />
    </button>
  </div>`;
}
