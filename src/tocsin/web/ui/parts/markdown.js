// Markdown as elements. The text is parsed into tokens and rendered from them: its HTML is never used.
import { h, html } from "../vendor/preact.js";
import { marked } from "../vendor/marked.js";
import { CopyButton } from "../parts/copy.js";

/** @typedef {import("../vendor/marked.js").Token} Token */
/** @typedef {import("../vendor/preact.js").Child} Child */

const SAFE = /^(https?:|mailto:|#)/i;

/** @param {{text: string}} props */
export function Markdown({ text }) {
  const tokens = marked.lexer(text);
  level(tokens);
  return html`<div class="markdown" dir="auto">${blocks(tokens)}</div>`;
}

/**
 * Headings start below those of the page and skip no level.
 * @param {Token[]} tokens
 * @param {number[]} [open]  The depths above, as they were written.
 */
function level(tokens, open = []) {
  for (const token of tokens) {
    if (token.type === "heading") {
      const depth = token.depth ?? 1;
      while ((open.at(-1) ?? 0) >= depth) open.pop();
      open.push(depth);
      token.depth = Math.min(6, open.length + 1);
    } else level([...(token.tokens ?? []), ...(token.items ?? [])], open);
  }
}

/** @param {Token[]} [tokens] @returns {Child[]} */
function blocks(tokens = []) {
  return tokens.map(block);
}

/** @param {Token} token @returns {Child} */
function block(token) {
  switch (token.type) {
    case "heading":
      return h(`h${token.depth ?? 2}`, null, inline(token.tokens));
    case "paragraph":
      return html`<p>${inline(token.tokens)}</p>`;
    case "text":
      return token.tokens ? inline(token.tokens) : token.text;
    case "code":
      return html`<div class="markdown__code"><${CopyButton} text=${token.text ?? ""} /><pre tabindex="0"><code>${token.text}</code></pre></div>`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens)}</blockquote>`;
    case "list":
      return h(token.ordered ? "ol" : "ul", token.ordered && token.start !== 1 ? { start: token.start } : null, (token.items ?? []).map(item));
    case "table":
      return html`<div class="markdown__table" tabindex="0"><table><thead><tr>${(token.header ?? []).map((cell) => html`<th>${inline(cell.tokens)}</th>`)}</tr></thead>
        <tbody>${(token.rows ?? []).map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell.tokens)}</td>`)}</tr>`)}</tbody></table></div>`;
    case "hr":
      return html`<hr />`;
    case "space":
    case "def":
      return null;
    default: // HTML and unknown tokens are shown as text
      return html`<p>${token.raw}</p>`;
  }
}

/** @param {Token} token @returns {Child} */
function item(token) {
  const box = token.task && html`<input type="checkbox" checked=${token.checked} disabled aria-label=${token.text?.slice(0, 80)} /> `;
  return html`<li>${box}${blocks(token.tokens)}</li>`;
}

/** @param {Token[]} [tokens] @returns {Child[]} */
function inline(tokens = []) {
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
        return html`<strong>${inline(token.tokens)}</strong>`;
      case "em":
        return html`<em>${inline(token.tokens)}</em>`;
      case "del":
        return html`<del>${inline(token.tokens)}</del>`;
      case "codespan":
        return html`<code>${token.text}</code>`;
      case "br":
        return html`<br />`;
      case "link":
        return SAFE.test(token.href ?? "") ? html`<a href=${token.href} rel="noopener noreferrer" target="_blank">${inline(token.tokens)}</a>` : html`${inline(token.tokens)}`;
      case "image": // an external image would reveal the reader
        return SAFE.test(token.href ?? "") ? html`<a href=${token.href} rel="noopener noreferrer" target="_blank">${token.text || token.href}</a>` : token.text;
      case "text":
        return token.tokens ? inline(token.tokens) : token.text;
      case "escape":
        return token.text;
      default:
        return token.raw;
    }
  });
}
