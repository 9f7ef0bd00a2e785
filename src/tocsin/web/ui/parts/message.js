// A message as its product shows it, drawn from the layout that the server made of it.
import { html } from "../vendor/preact.js";
import { Mark } from "../parts/mark.js";
import { MessageFiles } from "../parts/message_files.js";
import { MESSAGE } from "../strings/message.js";

/** @typedef {import("../types/records.js").MessageLayout} MessageLayout */
/** @typedef {MessageLayout["sections"][number]} Section */
/** @typedef {Section["blocks"][number]} Block */
/** @typedef {Block["spans"][number]} Span */

const SAFE = /^(https?:|mailto:)/i;
const NAMED = ["post", "card"];
const TAGS = /** @type {Record<string, string>} */ ({ bold: "strong", italic: "em", underline: "u", strike: "s", code: "code", heading: "strong" });

/** @param {{layout: MessageLayout, label: string, files?: import("../parts/message_files.js").ShownFile[]}} props  `label` names the message for screen readers. */
export function Message({ layout, label, files = [] }) {
  const named = NAMED.includes(layout.look);
  const attached = files.length > 0 && html`<${MessageFiles} files=${files} />`;
  const above = layout.look === "chat"; // the text is a caption there
  return html`<div class=${`message message--${layout.look}`} role="group" aria-label=${label} tabindex="0">
    ${named && html`<span class="message__face" aria-hidden="true"><${Mark} size=${20} /></span>`}
    <div class="message__body">
      ${named && html`<p class="message__from"><strong>Tocsin</strong> <span class="message__app">${MESSAGE.app}</span></p>`}
      ${layout.headers.length > 0 && html`<dl class="message__headers">${layout.headers.map(({ name, value }) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl>`}
      ${above && attached}${layout.sections.map((section) => html`<${SectionView} section=${section} />`)}${!above && attached}
    </div>
  </div>`;
}

/** @param {{section: Section}} props */
function SectionView({ section }) {
  const style = section.colour ? { borderInlineStartColor: section.colour } : undefined;
  const below = section.blocks.every(({ kind }) => kind === "buttons");
  return html`<div class=${section.card ? "message__card" : below ? "message__keys" : "message__text"} style=${style}>${section.blocks.map(blockView)}</div>`;
}

/** @param {Block} block */
function blockView(block) {
  if (block.kind === "buttons") return html`<p class="message__row">${block.buttons.map(buttonView)}</p>`;
  return html`<p class=${block.kind === "title" ? "message__title" : "message__words"} dir="auto">${block.spans.map(spanView)}</p>`;
}

/** @param {Block["buttons"][number]} button */
function buttonView({ label, url, style }) {
  const look = `message__button${style ? ` message__button--${style}` : ""}`;
  return SAFE.test(url) ? html`<a class=${look} href=${url} target="_blank" rel="noopener noreferrer" dir="auto">${label}</a>` : html`<span class=${look} dir="auto">${label}</span>`;
}

/** @param {Span} span */
function spanView({ text, styles, url }) {
  let shown = /** @type {import("../vendor/preact.js").Child} */ (text);
  for (const style of styles) {
    const Tag = TAGS[style];
    shown = Tag ? html`<${Tag}>${shown}<//>` : html`<span class=${`message__${style}`}>${shown}</span>`;
  }
  return SAFE.test(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${shown}</a>` : shown;
}
