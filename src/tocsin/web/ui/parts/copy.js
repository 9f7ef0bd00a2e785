// A copy button; without HTTPS the clipboard API is unavailable, and `execCommand` is used.
import { html, useEffect, useState } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { PARTS } from "../strings/states.js";

/**
 * @param {string} text
 * @returns {Promise<boolean>}  Whether it is on the clipboard.
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    (document.querySelector("dialog[open]") ?? document.body).append(field); // outside a dialog, nothing can be selected
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** @param {{text: string | (() => string), label?: string, wide?: boolean}} props */
export function CopyButton({ text, label = PARTS.copy, wide = false }) {
  const [said, say] = useState("");
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => say(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    const done = await copyText(typeof text === "function" ? text() : text);
    say(done ? PARTS.copied : PARTS.copyFailed);
  };
  return html`<button type="button" class=${wide ? "button button--small" : "icon-button"} title=${said || label} aria-label=${label} onClick=${copy}>
    <${Icon} name=${said === PARTS.copied ? "check" : "copy"} size=${15} />${wide && html`<span>${said || PARTS.copy}</span>`}
    <span class="visually-hidden" role="status">${said}</span>
  </button>`;
}

/** A word of a command: what quotes hold together is one. */
const WORD = /(?:"[^"]*"|'[^']*'|\S)+/g;

/** A command and the button that copies it. @param {{command: string}} props */
export function CopyCommand({ command }) {
  const words = command.match(WORD) ?? [];
  return html`<span class="copied"><code>${words.map((word, index) => html`${index > 0 && " "}<span class="command-word">${word}</span>`)}</code>
    <${CopyButton} text=${command} label=${`${PARTS.copy}: ${command}`} /></span>`;
}
