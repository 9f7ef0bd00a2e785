// What this browser alone keeps: the theme, and whether single letters are shortcuts.
import { html } from "../vendor/preact.js";
import { singleKeys } from "../lib/keys.js";
import { useSignal } from "../lib/store.js";
import { chooseTheme, theme } from "../lib/theme.js";
import { SETTINGS } from "../strings/settings.js";
import { SHELL } from "../strings/shell.js";

export function ThisBrowser() {
  const chosen = useSignal(theme);
  const keys = useSignal(singleKeys);
  return html`<fieldset class="panel try"><legend class="visually-hidden">${SETTINGS.theme}</legend>
    <span class="field__label" aria-hidden="true">${SETTINGS.theme}</span>
    <div class="row">${Object.entries(SHELL.themes).map(([name, word]) => html`<label class="check"><input type="radio" name="theme" value=${name} checked=${chosen === name}
      onChange=${() => chooseTheme(/** @type {any} */ (name))} /> ${word}</label>`)}</div>
    <label class="check"><input type="checkbox" checked=${keys} onChange=${(/** @type {any} */ event) => singleKeys.set(event.currentTarget.checked)} /> ${SETTINGS.shortcuts}</label>
    <span class="field__hint">${SETTINGS.shortcutsHint}</span></fieldset>`;
}
