// The branch of a job: its distance from the base, its commits, its files and their changes.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { DiffView } from "tocsin/parts/code.js";
import { Failure, Loading } from "tocsin/parts/states.js";
import { Shape } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { JOBS, JOB_PAGE } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Branch} Branch */
/** @typedef {{ahead: number | null, behind: number | null, diffstat: import("tocsin/types/records.js").Diffstat | null}} Compared */
/** @typedef {import("tocsin/types/records.js").BranchCommit} Commit */
/** @typedef {import("tocsin/types/records.js").BranchFile} File */

/** @param {{of: Compared}} props */
export function Distance({ of: { ahead, behind, diffstat } }) {
  if (ahead === null) return "–";
  return html`<span class="distance" title=${diffstat ? JOBS.stat(diffstat) : undefined}><span>${JOBS.ahead(ahead)}</span><span class="muted">${JOBS.behind(behind ?? 0)}</span>
    ${diffstat && diffstat.files > 0 && html`<span class="distance__added">+${diffstat.insertions}</span><span class="distance__removed">−${diffstat.deletions}</span>`}</span>`;
}

/** @param {{branch: Branch}} props */
export function BranchPanel({ branch }) {
  const commits = /** @type {Commit[]} */ (branch.commits ?? []);
  const files = /** @type {File[]} */ (branch.files ?? []);
  return html`<dl class="facts panel panel__body">
      <div><dt>${JOB_PAGE.branch}</dt><dd><code class="wraps">${branch.name}</code></dd></div>
      <div><dt>${JOB_PAGE.base}</dt><dd><code class="wraps">${branch.base}</code></dd></div>
      <div><dt>${JOB_PAGE.distance}</dt><dd><${Distance} of=${branch} /></dd></div>
      <div><dt>${JOBS.change}</dt><dd>${branch.diffstat ? JOBS.stat(branch.diffstat) : "–"}</dd></div>
      <div><dt>${JOB_PAGE.head}</dt><dd dir="auto">${branch.head_subject} <span class="muted"><${Time} at=${branch.head_at} /></span></dd></div>
      <div><dt>${JOB_PAGE.merged}</dt><dd>${branch.merged ? JOB_PAGE.mergedYes : JOB_PAGE.mergedNo}</dd></div>
      <div><dt>${JOB_PAGE.dirty}</dt><dd>${branch.dirty ? html`<${Shape} tone="warn" /> ${JOB_PAGE.dirtyYes}` : JOB_PAGE.dirtyNo}</dd></div>
    </dl>
    <section class="stack" aria-labelledby="commits"><h2 id="commits">${JOB_PAGE.commits}</h2>
      <${Table} label=${JOB_PAGE.commits} rows=${commits} columns=${COMMITS} rowKey=${(/** @type {Commit} */ one) => one.sha} empty=${html`<p class="muted">${JOB_PAGE.noCommits}</p>`} /></section>
    ${files.length > 0 && html`<section class="stack" aria-labelledby="files"><h2 id="files">${JOB_PAGE.files}</h2>
      <${Table} label=${JOB_PAGE.files} rows=${files} columns=${FILES} rowKey=${(/** @type {File} */ one) => one.path} /></section>`}`;
}

/** @type {import("tocsin/parts/table.js").Column<Commit>[]} */
const COMMITS = [
  { name: "sha", title: JOB_PAGE.sha, value: (one) => one.sha, cell: (one) => html`<code title=${one.sha}>${one.sha.slice(0, 8)}</code>` },
  { name: "subject", title: JOB_PAGE.subject, primary: true, value: (one) => one.subject },
  { name: "author", title: JOB_PAGE.author, value: (one) => one.author, cell: (one) => html`<span dir="auto">${one.author}</span>` },
  { name: "at", title: JOB_PAGE.when, value: (one) => one.at, cell: (one) => html`<${Time} at=${one.at} />` },
];

/** @type {import("tocsin/parts/table.js").Column<File>[]} */
const FILES = [
  { name: "path", title: JOB_PAGE.file, primary: true, value: (one) => one.path, cell: (one) => html`<code class="wraps">${one.path}</code>` },
  { name: "added", title: JOB_PAGE.added, align: "end", value: (one) => one.insertions, cell: (one) => (one.insertions === null ? JOB_PAGE.binary : html`<span class="distance__added">+${one.insertions}</span>`) },
  { name: "removed", title: JOB_PAGE.removed, align: "end", value: (one) => one.deletions, cell: (one) => (one.deletions === null ? JOB_PAGE.binary : html`<span class="distance__removed">−${one.deletions}</span>`) },
];

/** The diff is loaded when it is opened. @param {{id: string, head: string}} props */
export function Patch({ id, head }) {
  const [found, setFound] = useState(/** @type {Branch | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    api.get(url`/api/jobs/branches/${id}`, { patch: true }, { signal: stop.signal }).then(setFound, (problem) => stop.signal.aborted || setError(problem));
    return () => stop.abort();
  }, [id, head]);
  if (error) return html`<${Failure} error=${error} compact />`;
  if (!found) return html`<${Loading} />`;
  return html`${found.truncated && html`<p class="notice notice--warn">${JOB_PAGE.truncated}</p>`}<${DiffView} patch=${found.patch ?? ""} label=${JOB_PAGE.patch} />`;
}
