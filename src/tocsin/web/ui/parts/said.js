// Sentences of the program: backticks mark code, and the first letter is capitalised.
import { html } from "../vendor/preact.js";

/**
 * Return the text of a notice; if it has buttons, without the equivalent commands.
 * @param {{body: string, approval: object | null}} notice
 */
export function textOf({ body, approval }) {
  return body.split("\n").filter((line) => line && !(approval && line.startsWith("`tocsin runs "))).join("\n");
}

/** @param {{text: string}} props */
export function Said({ text }) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return html`<span class="said" dir="auto">${text}</span>`; // an unpaired backtick
  return html`<span class=${parts[0] ? "said" : "said said--code"} dir="auto">${parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : part))}</span>`;
}
