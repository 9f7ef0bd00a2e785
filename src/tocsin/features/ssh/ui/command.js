// The command bar: hosts, command, dry run, and the confirmation for many hosts.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, ApiProblem } from "tocsin/lib/api.js";
import { draftOf, keepDraft } from "tocsin/lib/drafts.js";
import { confirm } from "tocsin/parts/dialog.js";
import { Field } from "tocsin/parts/field.js";
import { Icon } from "tocsin/parts/icon.js";
import { Failure } from "tocsin/parts/states.js";
import { SSH_RUN } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Host} Host */
/** @typedef {{hosts: string[], groups: string[]}} Chosen */
/** @typedef {{hosts: string[], command: string}} Plan */

const DRAFT = "ssh";
const FEW = 12;
const FIRST = { command: "", timeout_seconds: 60, max_parallel: 5, stop_on_failure: false, working_dir: "", env: {}, output: "" };

/** @type {import("tocsin/parts/field.js").FieldSpec[]} */
const OPTIONS = [
  { name: "timeout_seconds", label: SSH_RUN.timeout, type: "number", min: 1, step: 1, required: true },
  { name: "max_parallel", label: SSH_RUN.parallel, type: "number", min: 1, step: 1, required: true },
  { name: "working_dir", label: SSH_RUN.dir },
  { name: "output", label: SSH_RUN.output, hint: SSH_RUN.outputHint, placeholder: SSH_RUN.outputExample },
  { name: "env", label: SSH_RUN.env, type: "map" },
  { name: "stop_on_failure", label: SSH_RUN.stop, type: "check" },
];

/**
 * @param {{hosts: Host[], groups: {name: string, hosts: string[], host_count: number}[], chosen: Chosen, choose: (next: Chosen) => void,
 *   started: (run: import("tocsin/types/records.js").Run) => void, fixed?: boolean}} props  `fixed`: what is chosen cannot be changed here.
 */
export function CommandBar({ hosts, groups, chosen, choose, started, fixed = false }) {
  const [values, setValues] = useState(() => ({ ...FIRST, .../** @type {any} */ (draftOf(DRAFT)) }));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [said, say] = useState("");
  const [busy, setBusy] = useState(false);
  const [plan, setPlan] = useState(/** @type {Plan | null} */ (null));
  const change = (/** @type {string} */ name, /** @type {unknown} */ value) => {
    const next = { ...values, [name]: value };
    setValues(next);
    setPlan(null);
    say("");
    keepDraft(DRAFT, next);
  };
  const ask = (/** @type {boolean} */ dry) => api.post("/api/ssh/run", { ...values, ...chosen, output: values.output || null, dry_run: dry });
  const act = async (/** @type {boolean} */ dry) => {
    if (busy) return;
    const missing = !chosen.hosts.length && !chosen.groups.length ? SSH_RUN.noTarget : values.command.trim() ? "" : SSH_RUN.noCommand;
    say(missing);
    setError(null);
    if (missing) return;
    setBusy(true);
    try {
      // The server resolves the hosts, also a host in two groups.
      const found = /** @type {Plan} */ (await ask(true));
      if (dry) setPlan(found);
      else if (found.hosts.length === 1) started(await ask(false));
      else await confirm({ title: SSH_RUN.sure(found.hosts.length), text: html`<${PlanView} plan=${found} />`, action: SSH_RUN.runOn(found.hosts.length), work: async () => started(await ask(false)) });
      if (!dry) setPlan(null);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void act(false);
  };
  const problems = error instanceof ApiProblem ? error.fields : {};
  const wrong = Object.keys(problems);
  const told = wrong.length > 0 && wrong.every((name) => OPTIONS.some((option) => option.name === name)); // at the options, which are open then
  return html`<form class="panel command" aria-label=${SSH_RUN.label} onSubmit=${submit} novalidate>
    ${!fixed && html`<${Targets} hosts=${hosts} groups=${groups} chosen=${chosen} choose=${choose} />`}
    <div class="command__line"><label class="command__field"><span class="visually-hidden">${SSH_RUN.command}</span>
        <textarea class="input input--mono" rows=${Math.min(8, values.command.split("\n").length)} placeholder=${SSH_RUN.placeholder} value=${values.command} spellcheck=${false} autocapitalize="none"
          aria-invalid=${problems.command ? "true" : undefined} onKeyDown=${onEnter(submit)} onInput=${(/** @type {any} */ event) => change("command", event.currentTarget.value)}></textarea></label>
      <button class="button button--primary" aria-disabled=${busy}><${Icon} name="play" size=${16} />${SSH_RUN.run}</button>
      <button type="button" class="button" aria-disabled=${busy} onClick=${() => act(true)}>${SSH_RUN.dryRun}</button></div>
    ${said && html`<p class="notice notice--warn" role="alert">${said}</p>`}
    ${error && !told && html`<${Failure} error=${error} compact />`}
    ${plan && html`<div class="notice notice--info command__plan" role="status"><strong>${SSH_RUN.would(plan.hosts.length)}</strong><${PlanView} plan=${plan} /></div>`}
    <details class="command__options" open=${told || undefined}><summary>${SSH_RUN.options}</summary>
      <div class="form__fields">${OPTIONS.map((spec) => html`<${Field} key=${spec.name} spec=${spec} value=${values[spec.name]} values=${values} problem=${problems[spec.name]} change=${change} />`)}</div></details>
  </form>`;
}

/** Enter submits, Shift-Enter starts a new line. @param {(event: Event) => void} submit */
function onEnter(submit) {
  return (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
}

/** @param {{plan: Plan}} props */
function PlanView({ plan }) {
  return html`<ul class="chips">${plan.hosts.map((host) => html`<li class="chip" dir="auto">${host}</li>`)}</ul>
    <p class="muted">${SSH_RUN.what}</p><pre class="command__what" tabindex="0">${plan.command}</pre>`;
}

/**
 * Groups, and hosts if there are few; otherwise only the selected hosts.
 * @param {{hosts: Host[], groups: {name: string, host_count: number}[], chosen: Chosen, choose: (next: Chosen) => void}} props
 */
function Targets({ hosts, groups, chosen, choose }) {
  const usable = hosts.filter((host) => host.enabled).map((host) => host.name);
  const shown = usable.length <= FEW ? usable : chosen.hosts;
  const turn = (/** @type {"hosts" | "groups"} */ kind, /** @type {string} */ name) =>
    choose({ ...chosen, [kind]: chosen[kind].includes(name) ? chosen[kind].filter((one) => one !== name) : [...chosen[kind], name] });
  const some = chosen.hosts.length + chosen.groups.length > 0;
  return html`<div class="chips" role="group" aria-label=${SSH_RUN.on}><span class="muted">${SSH_RUN.on}</span>
    ${groups.map(({ name, host_count }) => html`<button type="button" class="chip chip--group" aria-pressed=${chosen.groups.includes(name)} onClick=${() => turn("groups", name)}><span dir="auto">${name}</span> <span class="numbers">${host_count}</span></button>`)}
    ${shown.map((name) => html`<button type="button" class="chip" aria-pressed=${chosen.hosts.includes(name)} onClick=${() => turn("hosts", name)} dir="auto">${name}</button>`)}
    ${some && html`<button type="button" class="link-button" onClick=${() => choose({ hosts: [], groups: [] })}>${SSH_RUN.clear}</button>`}</div>`;
}
