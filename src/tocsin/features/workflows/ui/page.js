// Workflows: every file with its state and last results.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, ApiProblem, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Dialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { runWorkflow } from "./run.js";
import { WORKFLOWS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Workflow} Workflow */
/** @typedef {import("tocsin/types/records.js").List<Workflow>} Data */

const LIMIT = 200;

export const page = definePage({
  title: WORKFLOWS.title,
  /** @returns {Promise<Data>} */
  load: ({ signal }) => api.get("/api/workflows", { limit: LIMIT }, { signal }),
  View: Workflows,
  events: "workflow.* run.created run.updated",
  onEvent: (data, { type, data: run }) => (type.startsWith("run.") && run.kind !== "workflow" ? data : undefined),
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Workflows({ data, query, change }) {
  const [filter, setFilter] = useState(query.q ?? "");
  const [asking, setAsking] = useState(false);
  useKeys([{ keys: "n", label: WORKFLOWS.new, run: () => setAsking(true) }]);
  const add = html`<button type="button" class="button button--primary" onClick=${() => setAsking(true)}><${Icon} name="plus" />${WORKFLOWS.new}</button>`;
  const rows = data.items.filter((one) => !query.valid || one.valid === (query.valid === "true"));
  const empty = !data.items.length && html`<${Empty} icon="workflows" text=${WORKFLOWS.none} action=${add} command=${WORKFLOWS.noneCommand} />`;
  return html`<${PageHead} title=${WORKFLOWS.title} actions=${add} />
    ${data.items.length > 0 && html`<${Toolbar}><${FilterBox} value=${query.q} onText=${setFilter} />
      <${Choice} name="valid" label=${WORKFLOWS.valid} value=${query.valid} options=${[["", WORKFLOWS.any], ["true", WORKFLOWS.validOnly], ["false", WORKFLOWS.invalidOnly]]} /><//>`}
    <${Table} label=${WORKFLOWS.title} rows=${rows} columns=${COLUMNS} rowKey=${(/** @type {Workflow} */ one) => one.name} filter=${filter} empty=${empty} remember="workflows"
      href=${(/** @type {Workflow} */ one) => link("workflows", one.name)} more=${nextPage(data, change, "/api/workflows", { limit: LIMIT })} />
    ${asking && html`<${NewDialog} known=${data.items.map(({ name }) => name)} close=${() => setAsking(false)} />`}`;
}

const COLUMNS = [
  { name: "valid", title: WORKFLOWS.valid, value: (/** @type {Workflow} */ one) => (one.valid ? 0 : 1), cell: (/** @type {Workflow} */ one) => html`<${Status} state=${one.valid ? "valid" : "invalid"} label=${one.valid ? undefined : WORKFLOWS.mistakes(one.error_count)} />` },
  { name: "name", title: WORKFLOWS.name, primary: true, value: (/** @type {Workflow} */ one) => one.name, cell: (/** @type {Workflow} */ one) => html`${one.name}${one.description && html`<span class="workflow__about" dir="auto">${one.description}</span>`}` },
  { name: "steps", title: WORKFLOWS.steps, align: "end", value: (/** @type {Workflow} */ one) => one.steps_count },
  { name: "last", title: WORKFLOWS.last, value: (/** @type {Workflow} */ one) => one.last_run?.started_at ?? one.last_run?.queued_at, cell: lastOf },
  { name: "history", title: WORKFLOWS.history, sort: false, cell: (/** @type {Workflow} */ one) => html`<${HistoryBar} runs=${one.recent} newestFirst label=${WORKFLOWS.historyOf(one.name)} href=${(/** @type {any} */ run) => run.id && link("runs", run.id)} />` },
  { name: "changed", title: WORKFLOWS.changed, value: (/** @type {Workflow} */ one) => one.updated_at, hideSmall: true, cell: (/** @type {Workflow} */ one) => html`<${Time} at=${one.updated_at} />` },
  { name: "run", title: "", bare: "icons", cell: (/** @type {Workflow} */ one) => html`<${ActionButton} run=${() => runWorkflow(one.name, false)} icon="play" label=${WORKFLOWS.runLabel(one.name)} disabled=${!one.valid} />` },
];

/** @param {Workflow} one */
function lastOf({ last_run: run }) {
  if (!run) return html`<span class="muted">${WORKFLOWS.neverRan}</span>`;
  return html`<a class="cron__last" href=${link("runs", run.id)} title=${run.reason ?? undefined}><${Status} state=${run.status} quiet />
    <span class="muted numbers"><${Time} at=${run.started_at ?? run.queued_at} />${run.duration_ms != null && `, ${duration(run.duration_ms)}`}</span></a>`;
}

/** @param {{known: string[], close: () => void}} props */
function NewDialog({ known, close }) {
  /** @param {Record<string, any>} wish */
  const submit = async ({ name }) => {
    const yaml = `name: ${name}\ndescription: ${WORKFLOWS.first}\n\nparams:\n  folder: {type: string, default: /}\n\nsteps:\n  - name: measure\n    command: df -h "$PARAM_FOLDER"\n    timeout: 30s\n`;
    const path = url`/api/workflows/${name}`;
    // A new workflow never replaces an existing one: that one is opened.
    if (!known.includes(name)) await api.put(path, { yaml }, { create: true }).catch(unlessThere);
    close();
    go(`${link("workflows", name)}?tab=yaml`);
  };
  return html`<${Dialog} title=${WORKFLOWS.new} close=${close}>
    <${Form} label=${WORKFLOWS.new} fields=${[{ name: "name", label: WORKFLOWS.nameField, hint: WORKFLOWS.nameHint, required: true, focus: true }]} values=${{ name: "" }}
      submit=${submit} submitLabel=${WORKFLOWS.create} cancel=${close} /><//>`;
}

/** @param {unknown} error */
function unlessThere(error) {
  if (!(error instanceof ApiProblem && error.status === 412)) throw error;
}
