// Sentences of the program: what stands in backticks is code, and the first letter of a word is a capital.
import { html } from "../vendor/preact.js";

/**
 * What a notice says; where there are buttons, the commands that do the same are left out.
 * @param {{body: string, approval: object | null}} notice
 */
export function textOf({ body, approval }) {
  return body.split("\n").filter((line) => line && !(approval && line.startsWith("`tocsin runs "))).join("\n");
}

/** @param {{text: string}} props */
export function Said({ text }) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return html`<span class="said" dir="auto">${text}</span>`; // a backtick that is no mark
  return html`<span class=${parts[0] ? "said" : "said said--code"} dir="auto">${parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : part))}</span>`;
}
