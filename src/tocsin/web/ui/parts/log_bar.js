// The toolbar of a log: search, wrap, copy, download.
import { html } from "../vendor/preact.js";
import { CopyButton } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { LOG } from "../strings/states.js";

/**
 * @param {{log: import("../lib/log.js").Log, name: string, download?: string, words: string, at: number, all: number, search: (words: string) => void,
 *   jump: (step: number) => void, wrap: boolean, setWrap: () => void}} props
 */
export function LogBar({ log, name, download, words, at, all, search, jump, wrap, setWrap }) {
  /** @param {KeyboardEvent & {currentTarget: HTMLInputElement}} event */
  const onKey = (event) => {
    if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && words) search("");
    else return;
    event.preventDefault();
  };
  return html`<div class="log__bar">
    <label class="filter"><${Icon} name="search" size=${15} /><span class="visually-hidden">${LOG.search}</span>
      <input class="input" type="search" data-filter placeholder=${LOG.searchShort} value=${words} autocomplete="off" spellcheck=${false}
        onInput=${(/** @type {any} */ event) => search(event.currentTarget.value)} onKeyDown=${onKey} /></label>
    ${words && html`<span class="muted numbers" role="status">${LOG.matches(at, all)}</span>
      <button type="button" class="icon-button" aria-label=${LOG.previous} onClick=${() => jump(-1)}><span class="turned"><${Icon} name="down" size=${15} /></span></button>
      <button type="button" class="icon-button" aria-label=${LOG.next} onClick=${() => jump(1)}><${Icon} name="down" size=${15} /></button>`}
    <span class="log__space muted numbers">${LOG.count(log.lines.length)}</span>
    <button type="button" class="icon-button" aria-pressed=${wrap} aria-label=${LOG.wrap} title=${LOG.wrap} onClick=${setWrap}><${Icon} name="wrap" size=${16} /></button>
    <${CopyButton} text=${log.text} label=${LOG.copyAll} />
    ${download ? html`<a class="icon-button" href=${download} download=${name} aria-label=${LOG.download} title=${LOG.download}><${Icon} name="download" size=${16} /></a>`
      : html`<button type="button" class="icon-button" aria-label=${LOG.download} title=${LOG.download} onClick=${() => saveText(name, log.text())}><${Icon} name="download" size=${16} /></button>`}
  </div>`;
}

/**
 * Offer a text to the person as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function saveText(name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
