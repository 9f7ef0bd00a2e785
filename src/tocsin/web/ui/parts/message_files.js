// The files of a message, as they are shown below or above its text.
import { html } from "../vendor/preact.js";
import { bytes } from "../lib/format.js";
import { Icon } from "../parts/icon.js";

/** @typedef {{name: string, size: number, picture?: string, alt?: string}} ShownFile  `picture` is the address of an image that is safe to show. */

// Images that cannot contain scripts.
export const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A name in which no character is hidden or turns the direction of others. @param {string} name */
export function visibleName(name) {
  return name.replace(HIDDEN, "\ufffd");
}

/** @param {{files: ShownFile[]}} props */
export function MessageFiles({ files }) {
  return html`<ul class="message__files">${files.map(({ name, size, picture, alt }) => html`<li>
    ${picture && html`<img class="message__picture" src=${picture} alt=${alt || visibleName(name)} />`}
    <span class="message__file">${!picture && html`<${Icon} name="file" size=${16} />`}<bdi>${visibleName(name)}</bdi> <span class="message__size">${bytes(size)}</span></span></li>`)}</ul>`;
}
