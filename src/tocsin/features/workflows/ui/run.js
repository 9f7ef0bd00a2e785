// Run a workflow, or show a dry run: its parameters as a form, the plan as a table.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { go, link } from "tocsin/lib/router.js";
import { Dialog, openDialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { toast } from "tocsin/parts/toast.js";
import { WORKFLOW } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Workflow} Workflow */
/** @typedef {import("tocsin/types/records.js").WorkflowPlan} Plan */
/** @typedef {Plan["plan"][number]} Planned */

/**
 * Ask for the parameters, then start the workflow, or show the plan.
 * @param {string} name
 * @param {boolean} dry
 */
export async function runWorkflow(name, dry) {
  /** @type {Workflow} */
  const workflow = await api.get(url`/api/workflows/${name}`);
  openDialog((close) => html`<${RunDialog} workflow=${workflow} dry=${dry} close=${close} />`);
}

/** @param {{workflow: Workflow, dry: boolean, close: () => void}} props */
function RunDialog({ workflow, dry, close }) {
  const [plan, setPlan] = useState(/** @type {Plan | null} */ (null));
  const params = Object.entries(/** @type {Record<string, any>} */ (workflow.params ?? {}));
  const { name } = workflow;
  /** @param {Record<string, any>} wish */
  const submit = async ({ params: given = {}, ...wish }) => {
    // An empty parameter keeps its default.
    const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== ""));
    /** @type {Record<string, any>} */
    const body = { ...wish, params: filled, from_step: wish.from_step ?? "", only: wish.only ?? [] };
    const found = await api.post(url`/api/workflows/${name}/run`, body);
    if (body.dry_run) return setPlan(found);
    close();
    return go(link("runs", found.id));
  };
  const first = { params: Object.fromEntries(params.map(([key, rule]) => [key, rule.default ?? (rule.type === "boolean" ? false : "")])), only: [], from_step: "", env: {}, dry_run: dry };
  useEffect(() => {
    // A dry run changes nothing: show the plan with the defaults immediately.
    if (!dry || params.some(([, rule]) => rule.default === undefined && rule.type !== "boolean")) return;
    api.post(url`/api/workflows/${name}/run`, { params: {}, dry_run: true }).then((found) => setPlan((now) => now ?? found), toast.problem);
  }, []);
  return html`<${Dialog} title=${dry ? WORKFLOW.dryTitle(name) : WORKFLOW.runTitle(name)} close=${close} wide>
    ${dry && plan && html`<${PlanTable} plan=${plan} />`}
    ${!params.length && html`<p class="muted">${WORKFLOW.noParams}</p>`}
    <${Form} label=${WORKFLOW.runTitle(name)} fields=${[...params.map(fieldOf), ...further(workflow)]} values=${first} submit=${submit}
      submitLabel=${dry ? WORKFLOW.show : WORKFLOW.runTitle(name)} cancel=${close} />
    ${!dry && plan && html`<${PlanTable} plan=${plan} />`}
  <//>`;
}

/** Return the control for the schema of a parameter. @param {[string, any]} entry @returns {import("tocsin/parts/field.js").FieldSpec} */
function fieldOf([name, rule]) {
  const limits = [rule.minimum !== undefined && `≥ ${rule.minimum}`, rule.maximum !== undefined && `≤ ${rule.maximum}`].filter(Boolean).join(", ");
  const common = { name: `params/${name}`, label: name, hint: [rule.description, limits].filter(Boolean).join(" ") || undefined, required: rule.default === undefined && rule.type !== "boolean" };
  if (rule.enum) return { ...common, type: "select", options: rule.enum.map((/** @type {unknown} */ one) => [String(one), String(one)]) };
  switch (rule.type) {
    case "boolean": return { ...common, type: "check" };
    case "integer": return { ...common, type: "number", step: 1, min: rule.minimum, max: rule.maximum };
    case "number": return { ...common, type: "number", min: rule.minimum, max: rule.maximum };
    case "array": return { ...common, type: rule.items?.type === "string" ? "list" : "json" };
    case "object": return { ...common, type: "json" };
    default: return { ...common, type: "text" };
  }
}

/** @param {Workflow} workflow @returns {import("tocsin/parts/field.js").FieldSpec[]} */
function further({ graph }) {
  const steps = (graph?.nodes ?? []).map(({ id }) => id);
  return [
    { name: "from_step", label: WORKFLOW.from, hint: WORKFLOW.fromHint, suggestions: steps },
    { name: "only", label: WORKFLOW.only, hint: WORKFLOW.onlyHint, type: "list" },
    { name: "env", label: WORKFLOW.env, type: "map" },
    { name: "dry_run", label: WORKFLOW.dry, type: "check" },
  ];
}

/** @param {{plan: Plan}} props */
function PlanTable({ plan }) {
  const word = (/** @type {boolean | null} */ would) => (would === null ? WORKFLOW.depends : would ? WORKFLOW.yes : WORKFLOW.no);
  const columns = [
    { name: "wave", title: WORKFLOW.wave, sort: false, align: "end", value: (/** @type {Planned} */ step) => step.wave },
    { name: "step", title: WORKFLOW.step, sort: false, primary: true, value: (/** @type {Planned} */ step) => step.step },
    { name: "type", title: WORKFLOW.type, sort: false, cell: (/** @type {Planned} */ step) => html`<span class="plan__type">${step.type}</span>` },
    { name: "would", title: WORKFLOW.would, sort: false, cell: (/** @type {Planned} */ step) => html`<${Status} state=${step.problems.length ? "error" : step.would_run === null ? "info" : step.would_run ? "ok" : "skipped"} label=${word(step.would_run)} title=${step.when ?? undefined} />` },
    { name: "command", title: WORKFLOW.command, sort: false, cell: (/** @type {Planned} */ step) => html`<code class="wraps" dir="auto">${step.command}</code>` },
    { name: "needs", title: WORKFLOW.needs, sort: false, value: (/** @type {Planned} */ step) => step.depends_on.join(", ") },
    ...(plan.plan.some(({ host, hosts }) => host || hosts.length) ? [{ name: "where", title: WORKFLOW.where, sort: false, value: (/** @type {Planned} */ step) => (step.hosts.length ? step.hosts.join(", ") : (step.host ?? "")) }] : []),
  ];
  return html`<section class="stack" role="status"><h2>${WORKFLOW.plan}</h2>
    ${plan.problems.map((text) => html`<p class="notice notice--bad" dir="auto">${text}</p>`)}${plan.warnings.map((text) => html`<p class="notice notice--warn" dir="auto">${text}</p>`)}
    <${Table} label=${WORKFLOW.plan} rows=${plan.plan} rowKey=${(/** @type {Planned} */ step) => step.step} columns=${columns}
      below=${(/** @type {Planned} */ step) => belowOf(step)} /></section>`;
}

/** The inputs of a step, and its errors. @param {Planned} step */
function belowOf(step) {
  const text = (/** @type {unknown} */ value) => (typeof value === "string" ? value : JSON.stringify(value));
  const given = Object.entries(step.variables).map(([name, value]) => `${name}=${value}`);
  if (step.items) given.push(WORKFLOW.forEach(step.items.map(text)));
  else if (step.for_each) given.push(WORKFLOW.forEachLater(step.for_each));
  if (!given.length && !step.problems.length) return null;
  return html`${given.map((one) => html`<code class="wraps muted" dir="auto">${one}</code> `)}${step.problems.length > 0 && html`<span class="run__wrong" dir="auto">${step.problems.join(" ")}</span>`}`;
}
