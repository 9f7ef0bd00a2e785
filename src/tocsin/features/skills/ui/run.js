// Running a skill, and the state of its run.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { Dialog, openDialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { toast } from "tocsin/parts/toast.js";
import { SKILL_RUN } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Skill} Skill */
/** @typedef {import("tocsin/types/records.js").Run} Run */

/** @param {Skill} skill */
export function standingOf(skill) {
  if (!skill.valid) return "invalid";
  if (!skill.enabled) return "disabled";
  if (skill.dependencies.some(({ found }) => !found)) return "missing";
  if (skill.usable === false) return "unconfigured";
  return skill.at_hand === false ? "idle" : "active";
}

/** @param {Skill} skill @param {(run: Run) => void} begun */
export function runSkill(skill, begun) {
  openDialog((close) => html`<${RunDialog} skill=${skill} begun=${begun} close=${close} />`);
}

/** @param {{skill: Skill, begun: (run: Run) => void, close: () => void}} props */
function RunDialog({ skill, begun, close }) {
  const [planned, setPlanned] = useState(/** @type {Run | null} */ (null));
  const program = skill.kind === "runnable";
  /** @param {Record<string, any>} wish */
  const submit = async ({ args, input, ...wish }) => {
    setPlanned(null);
    const run = await api.post(url`/api/skills/${skill.name}/run`, { ...wish, input: input ?? "", args: linesOf(args) });
    if (wish.dry_run) return setPlanned(run);
    close();
    toast.ok(SKILL_RUN.started(skill.name));
    return begun(run);
  };
  return html`<${Dialog} title=${SKILL_RUN.title(skill.name)} close=${close}>
    <p class="muted" dir="auto">${skill.description}</p>
    <${Form} label=${SKILL_RUN.title(skill.name)} submitLabel=${SKILL_RUN.run} cancel=${close} submit=${submit}
      fields=${[
        { name: "args", label: program ? SKILL_RUN.args : SKILL_RUN.files, type: "area", hint: program ? SKILL_RUN.argsHint : SKILL_RUN.filesHint, focus: true },
        { name: "input", label: program ? SKILL_RUN.input : SKILL_RUN.what, type: "area" },
        ...(program ? [{ name: "mode", label: SKILL_RUN.mode, type: /** @type {"select"} */ ("select"), options: SKILL_RUN.modes, required: true }] : []),
        { name: "timeout_seconds", label: SKILL_RUN.timeout, type: "number", min: 1, max: 300, step: 1 },
        { name: "dry_run", label: SKILL_RUN.dry, type: "check" },
      ]} values=${{ args: "", input: "", mode: "sandboxed", timeout_seconds: null, dry_run: false }} />
    ${planned && html`<div role="status" class="notice notice--info"><span>${SKILL_RUN.would(skill.name)}</span><code class="wraps" dir="auto">${JSON.stringify(planned.params)}</code></div>`}
  <//>`;
}

/** @param {string | null | undefined} text */
function linesOf(text) {
  return (text ?? "").split("\n").filter((line) => line.trim());
}
