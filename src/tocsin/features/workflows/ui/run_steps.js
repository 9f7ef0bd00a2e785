// The steps of a workflow's run: as a list, and as a graph that follows the run.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { About } from "tocsin/parts/action.js";
import { CodeView } from "tocsin/parts/code.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { retryFrom } from "tocsin/parts/run_actions.js";
import { Graph } from "./graph.js";
import { RUN } from "tocsin/strings/runs.js";

/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {import("tocsin/types/records.js").StepRun} StepRun */
/** @typedef {import("tocsin/types/records.js").WorkflowGraph} Drawing */

/** @param {{run: Run}} props */
export function RunPart({ run }) {
  const [drawing, setDrawing] = useState(/** @type {Drawing | null} */ (null));
  const steps = run.steps ?? [];
  useEffect(() => {
    const stop = new AbortController();
    // The workflow may have been deleted or changed: the list is complete without the graph.
    api.get(url`/api/workflows/${run.subject_name}`, {}, { signal: stop.signal }).then((found) => setDrawing(found.graph), () => undefined);
    return () => stop.abort();
  }, [run.subject_name]);
  const fits = drawing && steps.every((step) => drawing.nodes.some(({ id }) => id === step.name));
  const columns = [
    { name: "status", title: RUN.status, sort: false, cell: (/** @type {StepRun} */ step) => html`<${Status} state=${step.status} />` },
    { name: "name", title: RUN.step, primary: true, sort: false, value: (/** @type {StepRun} */ step) => step.name },
    { name: "type", title: RUN.type, sort: false, value: (/** @type {StepRun} */ step) => step.type },
    { name: "took", title: RUN.took, sort: false, align: "end", cell: (/** @type {StepRun} */ step) => duration(step.duration_ms) },
    { name: "exit", title: RUN.exit, sort: false, align: "end", value: (/** @type {StepRun} */ step) => step.exit_code },
    { name: "error", title: RUN.error, sort: false, value: (/** @type {StepRun} */ step) => step.error?.message ?? "" },
    { name: "again", title: "", bare: true, cell: (/** @type {StepRun} */ step) => run.finished_at && html`<button type="button" class="button button--small" onClick=${() => retryFrom(run, step.name)}>${run.status === "succeeded" ? RUN.againFrom : RUN.retryFrom}<${About} name=${step.name} /></button>` },
  ];
  return html`<section class="stack"><h2>${RUN.steps}</h2>
    ${fits && html`<${Graph} drawing=${drawing} steps=${steps} label=${RUN.graph} />`}
    <${Table} label=${RUN.steps} rows=${steps} rowKey=${(/** @type {StepRun} */ step) => step.name} columns=${columns} below=${outputsOf} /></section>`;
}

/** @param {StepRun} step */
function outputsOf(step) {
  if (!Object.keys(step.outputs ?? {}).length) return null;
  return html`<details><summary>${RUN.outputs}</summary><${CodeView} text=${JSON.stringify(step.outputs, null, 2)} label=${`${RUN.outputs}: ${step.name}`} /></details>`;
}
