// What can be done about a run: cancel, start again, decide what waits.
import { html, render } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { go, link } from "../lib/router.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { RUN } from "../strings/runs.js";

/** @typedef {import("../types/records.js").Run} Run */
/** @typedef {(run: Run) => void} Take */

/** @param {Run} run @param {Take} take */
export async function cancelRun(run, take) {
  const work = async () => take(await api.post(url`/api/runs/${run.id}/cancel`, {}));
  if (await confirm({ title: RUN.cancelTitle, text: RUN.cancelText, action: RUN.cancelAction, danger: true, work })) toast.ok(RUN.cancelled);
}

/** @param {Run} run */
export async function retryRun(run) {
  if (run.status !== "succeeded") return startAgain(run);
  await confirm({ title: RUN.againTitle, text: RUN.againText, action: RUN.again, work: () => startAgain(run) });
}

/** @param {Run} run @param {string} [fromStep] */
async function startAgain(run, fromStep = "") {
  const started = await api.post(url`/api/runs/${run.id}/retry`, fromStep ? { from_step: fromStep } : {});
  toast.ok(RUN.retried);
  go(link("runs", started.id));
}

/** @param {Run} run @param {string} step */
export async function retryFrom(run, step) {
  const again = run.status === "succeeded";
  await confirm({ title: again ? RUN.againFromTitle(step) : RUN.retryFromTitle(step), text: RUN.retryFromText, action: again ? RUN.again : RUN.retry, work: () => startAgain(run, step) });
}

/**
 * @param {Run} run
 * @param {{step: string, message: string | null}} asked
 * @param {boolean} approved
 * @param {Take} take
 */
export function decide(run, { step, message }, approved, take) {
  const host = document.createElement("div");
  document.body.append(host);
  const close = () => {
    render(null, host);
    host.remove();
  };
  /** @param {Record<string, any>} wish */
  const submit = async ({ comment }) => {
    const body = { comment: comment ?? "", ...(step && { step }) };
    take(await api.post(approved ? url`/api/runs/${run.id}/approve` : url`/api/runs/${run.id}/reject`, body));
    toast.ok(approved ? RUN.approved : RUN.rejected);
    close();
  };
  const title = approved ? RUN.approveTitle : RUN.rejectTitle;
  render(html`<${Dialog} title=${title} close=${close}>${message && html`<p class="run__question" dir="auto">${message}</p>`}
    <p><strong dir="auto">${step}</strong> ${approved ? RUN.approveText : RUN.rejectText}</p>
    <${Form} label=${title} fields=${[{ name: "comment", label: RUN.comment, focus: true }]} values=${{ comment: "" }} submit=${submit}
      submitLabel=${approved ? RUN.approve : RUN.reject} cancel=${close} /><//>`, host);
}
