// Keyboard shortcuts. Single-letter ones can be disabled (WCAG 2.1.4) and are inactive while a person types.
import { useLayoutEffect, useRef } from "../vendor/preact.js";
import { remembered, signal } from "../lib/store.js";

/**
 * @typedef {object} Shortcut
 * @property {string} keys  `n`, `g c` (one after the other), `mod+k` (Ctrl, or Command on a Mac), `Escape`, `?`.
 * @property {string} label  What it does, for the overview.
 * @property {() => void} run
 * @property {string} [group]
 */

const SEQUENCE_MS = 1200;
/** @type {Shortcut[][]} The latest comes first: a dialog's shortcuts win over those of its page. */
const scopes = [];
/** All active shortcuts, for the overview. */
export const shortcuts = signal(/** @type {Shortcut[]} */ ([]));
/** Whether shortcuts without a modifier work. */
export const singleKeys = remembered("single-keys", true);
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
let pending = "";
let pendingSince = 0;

/**
 * @param {Shortcut[]} list
 * @returns {() => void}  What takes them away again.
 */
export function addShortcuts(list) {
  scopes.unshift(list);
  shortcuts.set(scopes.flat());
  return () => {
    const index = scopes.indexOf(list);
    if (index >= 0) scopes.splice(index, 1);
    shortcuts.set(scopes.flat());
  };
}

/**
 * Register shortcuts while the component is mounted.
 * @param {Shortcut[]} list
 */
export function useKeys(list) {
  const current = useRef(list);
  current.current = list;
  const names = list.map((shortcut) => `${shortcut.keys} ${shortcut.label}`).join("\n");
  // Before it is painted: a person may press a key as soon as the page is visible.
  useLayoutEffect(
    () =>
      addShortcuts(
        current.current.map((shortcut, index) => ({ ...shortcut, run: () => current.current[index]?.run() })),
      ),
    [names],
  );
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.defaultPrevented || event.isComposing) return;
  const key = nameOf(event);
  const single = !key.startsWith("mod+") && key !== "Escape";
  if (single && (!singleKeys.get() || isTyping(event.target))) return;
  if (document.querySelector("dialog[open]") && single) return; // the page behind a dialog ignores keys
  const after = pending && event.timeStamp - pendingSince < SEQUENCE_MS ? `${pending} ${key}` : key;
  const found = shortcutFor(after) ?? (after === key ? undefined : shortcutFor(key));
  pending = "";
  if (found) {
    event.preventDefault();
    found.run();
  } else if (single && scopes.some((list) => list.some((shortcut) => shortcut.keys.startsWith(`${key} `)))) {
    pending = key;
    pendingSince = event.timeStamp;
  }
}

/** @param {string} keys */
function shortcutFor(keys) {
  for (const list of scopes) {
    const found = list.find((shortcut) => shortcut.keys === keys);
    if (found) return found;
  }
  return undefined;
}

/** @param {KeyboardEvent} event */
function nameOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (isMac ? event.metaKey : event.ctrlKey) return `mod+${key}`;
  return event.altKey || event.metaKey || event.ctrlKey ? "" : key;
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|submit|reset|range)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/**
 * @param {string} keys
 * @returns {string[]}  As they are printed on the keyboard: `["Ctrl", "K"]`.
 */
export function printed(keys) {
  return keys.split(/[ +]/).map((key) => {
    if (key === "mod") return isMac ? "⌘" : "Ctrl";
    return key === "Escape" ? "Esc" : key.length === 1 ? key.toUpperCase() : key;
  });
}

addEventListener("keydown", onKey);
