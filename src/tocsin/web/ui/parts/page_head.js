// The head of a page: its title, its subject, and its actions; and the facts of a record below it.
import { html } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";

/** @typedef {import("../vendor/preact.js").Child} Child */

/**
 * @param {{title: Child, note?: Child, actions?: Child, back?: {href: string, label: string}}} props
 *   `back` leads from one record to the list it belongs to.
 */
export function PageHead({ title, note, actions, back }) {
  return html`<div class="page-head">
    <div class="page-head__main">
      ${back && html`<a class="page-head__back" href=${back.href}><${Icon} name="left" size=${14} />${back.label}</a>`}
      <h1 dir="auto">${title}</h1>
      ${note && html`<div class="page-head__note">${note}</div>`}
    </div>
    ${actions && html`<div class="page-head__actions">${actions}</div>`}
  </div>`;
}

/** A name and its value in a list `<dl class="facts">`. @param {string} name @param {Child} value */
export function fact(name, value) {
  return html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`;
}
