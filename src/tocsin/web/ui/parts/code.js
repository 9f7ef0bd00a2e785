// Text with line numbers: with markers, compared as a patch, or edited.
import { html, useEffect, useRef } from "../vendor/preact.js";
import { CopyButton } from "../parts/copy.js";
import { Shape } from "../parts/status.js";
import { useSuggestions } from "../parts/suggestions.js";
import { CODE } from "../strings/states.js";

/** @typedef {{line: number, tone: "bad" | "warn" | "info", text: string}} Marker  What is to say about a line. */

/**
 * @param {{text: string, label?: string, markers?: Marker[], first?: number}} props
 */
export function CodeView({ text, label = CODE.label, markers = [], first = 1 }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return html`<div class="code"><${CopyButton} text=${text} />
    <pre tabindex="0" role="region" aria-label=${label}><code>${lines.map((line, index) => {
      const told = markers.filter((marker) => marker.line === index + first);
      return html`<span class=${`code__line${told.length ? ` code__line--${told[0].tone}` : ""}`}><span class="code__number" aria-hidden="true" data-n=${index + first}></span><span class="code__text">${line || " "}</span></span>
        ${told.map((marker) => html`<span class=${`code__note code__note--${marker.tone}`}><${Shape} tone=${marker.tone} />${marker.text}</span>`)}`;
    })}</code></pre></div>`;
}

/**
 * A patch in the unified form of `git diff`.
 * @param {{patch: string, label?: string}} props
 */
export function DiffView({ patch, label = CODE.label }) {
  if (!patch.trim()) return html`<p class="muted">${CODE.noChange}</p>`;
  const lines = patch.replace(/\n$/, "").split("\n");
  let before = 0;
  let after = 0;
  return html`<div class="code code--diff"><${CopyButton} text=${patch} />
    <pre tabindex="0" role="region" aria-label=${label}><code>${lines.map((line) => {
      const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
      if (hunk) {
        before = Number(hunk[1]);
        after = Number(hunk[2]);
        return html`<span class="code__line code__line--hunk"><span class="code__text">${line}</span></span>`;
      }
      if (/^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode|Binary )/.test(line)) {
        return html`<span class="code__line code__line--file"><span class="code__text">${line}</span></span>`;
      }
      const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
      const [old, now] = [kind === "added" ? "" : before++, kind === "removed" ? "" : after++];
      return html`<span class=${`code__line${kind ? ` code__line--${kind}` : ""}`}><span class="code__number" aria-hidden="true" data-n=${old}></span><span class="code__number" aria-hidden="true" data-n=${now}></span>
        <span class="code__text">${kind && html`<span class="visually-hidden">${CODE[/** @type {"added" | "removed"} */ (kind)]}: </span>`}${line || " "}</span></span>`;
    })}</code></pre></div>`;
}

/**
 * A field for code: line numbers, marks, Tab moves on (it is a form), and two spaces come with Ctrl-].
 * @param {{value: string, onInput: (text: string) => void, label: string, markers?: Marker[], rows?: number, id?: string,
 *   complete?: import("../parts/suggestions.js").Complete}} props  `complete` says what may stand at the cursor.
 */
export function CodeEditor({ value, onInput, label, markers = [], rows = 24, id, complete }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const count = value.split("\n").length;
  const suggestions = useSuggestions(field, complete, onInput);
  const follow = () => gutter.current && field.current && (gutter.current.scrollTop = field.current.scrollTop);
  useEffect(() => void follow());
  /** @param {KeyboardEvent & {currentTarget: HTMLTextAreaElement}} event */
  const onKey = (event) => {
    const area = event.currentTarget;
    if (suggestions.onKey(event)) return;
    const indent = event.key === "Enter" && /(?:^|\n)([ ]*)[^\n]*$/.exec(area.value.slice(0, area.selectionStart))?.[1];
    const added = indent ? `\n${indent}` : event.key === "]" && (event.ctrlKey || event.metaKey) ? "  " : "";
    if (!added) return;
    event.preventDefault();
    area.setRangeText(added, area.selectionStart, area.selectionEnd, "end");
    onInput(area.value);
  };
  const typed = (/** @type {InputEvent & {currentTarget: HTMLTextAreaElement}} */ event) => {
    onInput(event.currentTarget.value);
    if (/^(insertText|deleteContentBackward)$/.test(event.inputType)) suggestions.look();
    else suggestions.close();
  };
  const scrolled = () => {
    follow();
    suggestions.close();
  };
  return html`<div class="editor"><div class="editor__field">
      <div class="editor__gutter" ref=${gutter} aria-hidden="true">${Array.from({ length: count }, (_, index) => {
        const marker = markers.find((one) => one.line === index + 1);
        return html`<span class=${marker ? `editor__mark editor__mark--${marker.tone}` : ""} title=${marker?.text}>${index + 1}</span>`;
      })}</div>
      <textarea ref=${field} id=${id} class="editor__text" rows=${rows} aria-label=${label} spellcheck=${false} autocapitalize="none" autocomplete="off" wrap="off" value=${value}
        aria-invalid=${markers.some((marker) => marker.tone === "bad") ? "true" : undefined} onScroll=${scrolled} onKeyDown=${onKey} onBlur=${suggestions.close} onClick=${suggestions.close} ...${suggestions.attributes}
        onInput=${typed}></textarea>${suggestions.list}</div>
    ${markers.length > 0 && html`<ul class="editor__notes">${markers.map((marker) => html`<li><button type="button" class="editor__note" onClick=${() => goTo(field.current, marker.line)}>
      <${Shape} tone=${marker.tone} /><span class="numbers">${CODE.line} ${marker.line}</span><span dir="auto">${marker.text}</span></button></li>`)}</ul>`}
  </div>`;
}

/** @param {HTMLTextAreaElement | null} field @param {number} line */
function goTo(field, line) {
  if (!field) return;
  const lines = field.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  field.focus();
  field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  field.scrollTop = Math.max(0, (line - 4) * 20);
}
