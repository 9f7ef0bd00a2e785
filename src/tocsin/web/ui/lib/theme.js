// The theme (light, dark, or the system's) and the line density; `boot.js` applies them before the first paint.
import { remembered } from "../lib/store.js";

/** @typedef {"light" | "dark" | "system"} Theme */

const ALL = ["light", "dark", "system"];

export const theme = remembered("theme", /** @type {Theme} */ ("system"), (value) => ALL.includes(String(value)));

/** @param {Theme} next */
export function chooseTheme(next) {
  theme.set(next);
  document.dispatchEvent(new Event("tocsin-theme"));
  if (next !== "system") document.documentElement.setAttribute("data-theme", next); // also if storage is unavailable
}

/** @typedef {"normal" | "compact"} Density */

export const density = remembered("density", /** @type {Density} */ ("normal"), (value) => value === "normal" || value === "compact");

/** @param {Density} next */
export function chooseDensity(next) {
  density.set(next);
  document.documentElement.setAttribute("data-density", next);
}
