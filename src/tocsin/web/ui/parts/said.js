// Sentences of the program: what stands in backticks is code, and the first letter of a word is a capital.
import { html } from "../vendor/preact.js";

/** @param {{text: string}} props */
export function Said({ text }) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return html`<span class="said" dir="auto">${text}</span>`; // a backtick that is no mark
  return html`<span class=${parts[0] ? "said" : "said said--code"} dir="auto">${parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : part))}</span>`;
}
