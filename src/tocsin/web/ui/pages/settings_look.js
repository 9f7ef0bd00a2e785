// Settings of this browser: the theme, the density, and single-letter shortcuts.
import { html } from "../vendor/preact.js";
import { singleKeys } from "../lib/keys.js";
import { useSignal } from "../lib/store.js";
import { chooseDensity, chooseTheme, density, theme } from "../lib/theme.js";
import { SETTINGS } from "../strings/settings.js";
import { SHELL } from "../strings/shell.js";

export function ThisBrowser() {
  const chosen = useSignal(theme);
  const keys = useSignal(singleKeys);
  const close = useSignal(density);
  return html`<section class="panel try look" aria-label=${SETTINGS.tabs.look}>
    <fieldset class="look__choice"><legend class="field__label">${SETTINGS.theme}</legend>
    <div class="row">${Object.entries(SHELL.themes).map(([name, word]) => html`<label class="check"><input type="radio" name="theme" value=${name} checked=${chosen === name}
      onChange=${() => chooseTheme(/** @type {any} */ (name))} /> ${word}</label>`)}</div></fieldset>
    <fieldset class="look__choice"><legend class="field__label">${SETTINGS.density}</legend>
    <div class="row">${Object.entries(SETTINGS.densities).map(([name, word]) => html`<label class="check"><input type="radio" name="density" value=${name} checked=${close === name}
      onChange=${() => chooseDensity(/** @type {any} */ (name))} /> ${word}</label>`)}</div></fieldset>
    <label class="check"><input type="checkbox" checked=${keys} onChange=${(/** @type {any} */ event) => singleKeys.set(event.currentTarget.checked)} /> ${SETTINGS.shortcuts}</label>
    <span class="field__hint">${SETTINGS.shortcutsHint}</span></section>`;
}
