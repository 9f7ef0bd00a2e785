// The list of active shortcuts, and the switch for single-letter ones.
import { html } from "../vendor/preact.js";
import { printed, shortcuts, singleKeys } from "../lib/keys.js";
import { useSignal } from "../lib/store.js";
import { Dialog } from "../parts/dialog.js";
import { SHELL } from "../strings/shell.js";

/** @param {{close: () => void}} props */
export function Shortcuts({ close }) {
  const all = useSignal(shortcuts);
  const single = useSignal(singleKeys);
  const groups = [SHELL.keyGroups.page, SHELL.keyGroups.everywhere, SHELL.keyGroups.go];
  return html`<${Dialog} title=${SHELL.shortcuts} close=${close} wide>
    <label class="check"><input type="checkbox" checked=${single} onChange=${() => singleKeys.set(!single)} /> ${SHELL.singleKeys}</label>
    <p class="muted">${SHELL.singleKeysHint}</p>
    <div class="shortcuts">
      ${groups.map((group) => {
        const list = all.filter((shortcut) => (shortcut.group ?? SHELL.keyGroups.page) === group);
        return list.length > 0 && html`<section><h3>${group}</h3><dl>${list.map(({ keys, label }) => html`<div>
          <dt>${label}</dt><dd>${printed(keys).map((key) => html`<kbd>${key}</kbd>`)}</dd></div>`)}</dl></section>`;
      })}
    </div>
  <//>`;
}
