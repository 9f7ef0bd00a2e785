// Unsent input of a person: it survives a reload and a login, and is deleted with the tab.
import { recall, store } from "../lib/store.js";

const PREFIX = "tocsin.draft.";

/**
 * @param {string} name
 * @returns {unknown}
 */
export function draftOf(name) {
  return recall("session", PREFIX + name);
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {boolean}  Whether it was kept.
 */
export function keepDraft(name, value) {
  return store("session", PREFIX + name, value);
}

/** @param {string} name */
export function dropDraft(name) {
  store("session", PREFIX + name, undefined);
}
