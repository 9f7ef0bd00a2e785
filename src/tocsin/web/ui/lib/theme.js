// Light, dark, or as the system is; `boot.js` applies it, also before the first paint.
import { remembered } from "../lib/store.js";

/** @typedef {"light" | "dark" | "system"} Theme */

const ALL = ["light", "dark", "system"];

export const theme = remembered("theme", /** @type {Theme} */ ("system"), (value) => ALL.includes(String(value)));

/** @param {Theme} next */
export function chooseTheme(next) {
  theme.set(next);
  document.dispatchEvent(new Event("tocsin-theme"));
  if (next !== "system") document.documentElement.setAttribute("data-theme", next); // also where storage is refused
}
