// The confirmation of a run that waits for approval. Loaded on first use.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { Dialog, openDialog } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { DECIDE } from "../strings/decide.js";

/** @typedef {import("../types/records.js").Run} Run */

/**
 * Ask for a comment, then approve or reject a step of a run. The question is read from the run, which others cannot write.
 * @param {string} id
 * @param {string} step  Empty for the only one that waits.
 * @param {boolean} approved
 * @param {(run: Run) => void} [done]  Shows what the server answered.
 */
export async function decide(id, step, approved, done) {
  /** @type {Run} */
  const run = await api.get(url`/api/runs/${id}`);
  const waiting = (run.steps ?? []).find(({ name, status }) => status === "waiting" && (!step || name === step));
  if (!waiting && run.status !== "waiting") return toast.info(DECIDE.over(run.subject_name));
  /** @param {Record<string, any>} wish @param {() => void} close */
  const submit = async ({ comment }, close) => {
    const body = { comment: comment ?? "", ...(waiting && { step: waiting.name }) };
    const answer = await api.post(approved ? url`/api/runs/${id}/approve` : url`/api/runs/${id}/reject`, body);
    done?.(answer);
    toast.ok(approved ? DECIDE.approved(run.subject_name) : DECIDE.rejected(run.subject_name));
    close();
  };
  const title = approved ? DECIDE.approveTitle(run.subject_name) : DECIDE.rejectTitle(run.subject_name);
  return openDialog((close) => html`<${Dialog} title=${title} close=${close}>${waiting?.message && html`<p class="run__question" dir="auto">${waiting.message}</p>`}
    <p class="muted">${approved ? DECIDE.approveText(waiting?.name) : DECIDE.rejectText(waiting?.name)}</p>
    <${Form} label=${title} fields=${[{ name: "comment", label: DECIDE.comment, focus: true }]} values=${{ comment: "" }}
      submit=${(/** @type {any} */ wish) => submit(wish, close)}
      submitLabel=${approved ? DECIDE.approve : DECIDE.reject} cancel=${close} /><//>`);
}
