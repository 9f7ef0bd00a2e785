// The actions of a run: cancel it, start it again.
import { api, url } from "../lib/api.js";
import { go, link } from "../lib/router.js";
import { confirm } from "../parts/dialog.js";
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
