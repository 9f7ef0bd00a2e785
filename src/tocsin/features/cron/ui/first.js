// The first job, in the list of first steps: its form, and its first run.
import { html, useEffect, useMemo, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { link } from "tocsin/lib/router.js";
import { useRunLog } from "tocsin/lib/run_log.js";
import { listen, refreshNow } from "tocsin/lib/stream.js";
import { Form } from "tocsin/parts/form.js";
import { LogView } from "tocsin/parts/log_view.js";
import { Status } from "tocsin/parts/status.js";
import { toast } from "tocsin/parts/toast.js";
import { drawSchedule, previewOf } from "./preview.js";
import { EDIT_JOB, FIRST_JOB, JOB } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Run} Run */

const NEW = { name: "", schedule: "", command: "", output: "" };

/** @param {import("tocsin/lib/manifest.js").StepFormProps} props */
export function StepForm({ done, close }) {
  const [made, setMade] = useState(/** @type {{name: string, run: Run} | null} */ (null));
  const preview = useMemo(() => previewOf(false), []);
  const submit = async (/** @type {Record<string, any>} */ record) => {
    const job = await api.post("/api/cron/jobs", sent(record));
    setMade({ name: job.name, run: await api.post(url`/api/cron/jobs/${job.id}/run`, {}) });
    refreshNow();
    done();
  };
  if (made) return html`<${FirstRun} name=${made.name} first=${made.run} close=${close} />`;
  const E = EDIT_JOB;
  /** @type {import("tocsin/parts/field.js").FieldSpec[]} */
  const fields = [
    { name: "name", label: E.name, hint: E.nameHint, required: true, focus: true },
    { name: "schedule", label: E.schedule, hint: E.scheduleHint, required: true, type: "custom", draw: (control) => drawSchedule(control, preview) },
    { name: "command", label: FIRST_JOB.command, required: true, type: "code", placeholder: FIRST_JOB.example },
    { name: "output", label: E.output, hint: E.outputHint, placeholder: E.outputExample, wide: true },
  ];
  return html`<${Form} label=${E.title} fields=${fields} values=${NEW} submit=${submit} submitLabel=${FIRST_JOB.submit} cancel=${close} onChange=${(/** @type {any} */ record) => preview.ask(sent(record))} />`;
}

/** @param {Record<string, any>} record */
function sent(record) {
  return { ...record, type: "shell", output: record.output || null };
}

/** @param {{name: string, first: Run, close: () => void}} props */
function FirstRun({ name, first, close }) {
  const [run, setRun] = useState(first);
  const log = useRunLog(first.id, { failed: (error) => toast.problem(error) });
  useEffect(() => {
    const read = () => void api.get(url`/api/runs/${first.id}`).then(setRun, toast.problem);
    read(); // it may have ended before this part listened
    return listen("run.updated", ({ type, data }) => {
      if (type === "resync" || data.id === first.id) read();
    });
  }, []);
  return html`<p>${FIRST_JOB.created(name)} <${Status} state=${run.status} title=${run.reason ?? undefined} /></p>
    <${LogView} log=${log} name=${`${run.subject_name}-${run.id}.log`} running=${!run.finished_at} height="short" />
    <p class="row"><a class="button" href=${link("runs", run.id)}>${JOB.whole}</a><button type="button" class="button" onClick=${close}>${FIRST_JOB.close}</button></p>`;
}
