// The output and the findings of a skill's run, and the change that it proposes.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, ApiProblem, url } from "tocsin/lib/api.js";
import { link } from "tocsin/lib/router.js";
import { useRunLog } from "tocsin/lib/run_log.js";
import { DiffView } from "tocsin/parts/code.js";
import { confirm } from "tocsin/parts/dialog.js";
import { LogView } from "tocsin/parts/log_view.js";
import { Failure } from "tocsin/parts/states.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { FINDINGS, SKILL } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {{path: string, line: number, severity: string, message: string, suggestion: string}} Finding */
/** @typedef {{folder: string, findings: Finding[], patch: string, written: string[], applied_at: string | null}} Result */

/** @param {{run: Run, assistant: boolean}} props */
export function SkillRun({ run, assistant }) {
  const log = useRunLog(run.id, { failed: (error) => toast.problem(error) });
  return html`<section class="stack" aria-label=${SKILL.result}>
    <p class="row"><${Status} state=${run.status} /><${Time} at=${run.started_at ?? run.queued_at} /><a href=${link("runs", run.id)}>${SKILL.whole}</a></p>
    ${run.reason && html`<p class="notice notice--warn" dir="auto">${run.reason}</p>`}
    ${assistant && run.finished_at && html`<${Found} id=${run.id} key=${run.finished_at} />`}
    <h2>${SKILL.output}</h2>
    <${LogView} log=${log} name=${`${run.subject_name}-${run.id}.log`} running=${!run.finished_at} height="short" /></section>`;
}

/** @param {{id: string}} props */
function Found({ id }) {
  const [found, setFound] = useState(/** @type {Result | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    api.post(url`/api/runs/${id}/apply`, { dry_run: true }, { signal: stop.signal }).then(setFound, (problem) => stop.signal.aborted || setError(problem));
    return () => stop.abort();
  }, [id]);
  if (error instanceof ApiProblem && error.status === 404) return html`<p class="muted">${FINDINGS.noResult}</p>`;
  if (error) return html`<${Failure} error=${error} compact />`;
  if (!found) return null;
  const apply = () => confirm({
    title: FINDINGS.sure(found.folder), text: FINDINGS.text, action: FINDINGS.apply,
    work: async () => {
      const written = /** @type {Result} */ (await api.post(url`/api/runs/${id}/apply`));
      setFound(written);
      toast.ok(FINDINGS.done(written.written.length));
    },
  });
  return html`<h2>${FINDINGS.title} <span class="badge">${found.findings.length}</span></h2>
    <${Table} label=${FINDINGS.title} rows=${found.findings} columns=${COLUMNS} rowKey=${(/** @type {Finding} */ one) => `${one.path} ${one.line} ${one.message}`} empty=${html`<p class="muted">${FINDINGS.none}</p>`} />
    ${found.patch && html`<div class="page-head__actions skill__apply"><h2>${FINDINGS.patch}</h2>
        ${found.applied_at ? html`<span><${Shape} tone="ok" /> ${FINDINGS.applied} <${Time} at=${found.applied_at} /></span>` : html`<button type="button" class="button button--primary" onClick=${apply}>${FINDINGS.apply}</button>`}</div>
      <${DiffView} patch=${found.patch} label=${FINDINGS.patch} />`}`;
}

/** @type {import("tocsin/parts/table.js").Column<Finding>[]} */
const COLUMNS = [
  {
    name: "severity", title: FINDINGS.severity, value: (one) => Object.keys(FINDINGS.severities).indexOf(one.severity),
    cell: (one) => {
      const [tone, word] = FINDINGS.severities[one.severity] ?? ["info", one.severity];
      return html`<span class=${`status status--${tone}`}><${Shape} tone=${tone} />${word}</span>`;
    },
  },
  { name: "where", title: FINDINGS.where, primary: true, value: (one) => (one.line ? `${one.path}:${one.line}` : one.path), cell: (one) => html`<code class="wraps">${one.line ? `${one.path}:${one.line}` : one.path}</code>` },
  { name: "message", title: FINDINGS.message, value: (one) => one.message, cell: (one) => html`<span dir="auto">${one.message}</span>` },
  { name: "suggestion", title: FINDINGS.suggestion, value: (one) => one.suggestion, cell: (one) => (one.suggestion ? html`<span class="wraps" dir="auto">${one.suggestion}</span>` : "–") },
];
