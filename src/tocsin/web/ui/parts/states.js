// The placeholders of a page: loading, empty, or a problem.
import { html } from "../vendor/preact.js";
import { ApiProblem } from "../lib/api.js";
import { CopyButton, CopyCommand } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { Shape } from "../parts/status.js";
import { PARTS } from "../strings/states.js";

/** @typedef {import("../vendor/preact.js").Child} Child */

/** @param {{lines?: number}} props */
export function Loading({ lines = 4 }) {
  const widths = Array.from({ length: lines }, (_, index) => `skeleton skeleton--${index % 3}`);
  return html`<div class="loading" role="status">
    <span class="visually-hidden">${PARTS.loading}</span>${widths.map((name) => html`<span class=${name}></span>`)}
  </div>`;
}

/**
 * One sentence, one button, and the equivalent command; `example` is sample content of the file that it names.
 * @param {{text: Child, action?: Child, command?: string, icon?: string, example?: string}} props
 */
export function Empty({ text, action, command, icon, example }) {
  return html`<div class="empty">
    ${icon && html`<${Icon} name=${icon} size=${28} />`}
    <p>${text}</p>
    ${action}
    ${example && html`<div class="code empty__example"><pre tabindex="0">${example}</pre><${CopyButton} text=${example} label=${PARTS.copyExample} /></div>`}
    ${command && html`<p class="empty__command">${PARTS.sameOnCommandLine} <${CopyCommand} command=${command} /></p>`}
  </div>`;
}

/** What went wrong, in a few words. @param {unknown} error */
export function failureTitle(error) {
  if (!(error instanceof ApiProblem)) return PARTS.crashTitle;
  return error.status === 404 ? PARTS.goneTitle : error.title;
}

/**
 * @param {{error: unknown, retry?: () => void, compact?: boolean, back?: string, page?: boolean}} props
 *   `back` is where what is gone was listed; `page`: it is all there is, and heads the page.
 */
export function Failure({ error, retry, compact = false, back, page = false }) {
  const problem = error instanceof ApiProblem ? error : null;
  const gone = problem?.status === 404;
  const title = failureTitle(error);
  const wrong = problem?.errors ?? [];
  const detail = wrong.length ? "" : problem ? problem.detail || (gone ? PARTS.goneText : "") : PARTS.crashText;
  const id = problem && problem.status >= 500 ? problem.requestId : ""; // for errors of the caller, the log has no further details
  const trace = problem ? "" : String(error instanceof Error ? (error.stack ?? error.message) : error);
  return html`<div class=${compact ? "failure failure--compact" : "failure"} role="alert">
    <${page ? "h1" : "p"} class="failure__title"><${Shape} tone="bad" size=${16} />${title}<//>
    ${detail && html`<p><${Said} text=${detail} /></p>`}
    ${wrong.map(({ pointer = "", detail }) => html`<p>${pointer.length > 2 && html`<code>${pointer.slice(2)}</code> `}<${Said} text=${detail} /></p>`)}
    ${trace && html`<pre class="failure__trace" tabindex="0">${trace}</pre>`}
    <div class="row">
      ${gone && back && html`<a class="button button--primary" href=${`#/${back}`}>${PARTS.toList}</a>`}
      ${retry && html`<button type="button" class="button" onClick=${retry}>${PARTS.retry}</button>`}
      ${id && html`<${RequestId} id=${id} />`}
    </div>
  </div>`;
}

/** @param {{id: string}} props */
export function RequestId({ id }) {
  return html`<span class="request-id">${PARTS.requestId} <code>${id}</code>
    <${CopyButton} text=${id} label=${`${PARTS.copy} ${PARTS.requestId}`} /></span>`;
}
