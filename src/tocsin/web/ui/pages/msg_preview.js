// What a message becomes for each of its targets, by a dry run of the server.
import { html, useEffect, useState } from "../vendor/preact.js";
import { ApiProblem, afterPause, api } from "../lib/api.js";
import { channelName } from "../lib/channels.js";
import { Message } from "../parts/message.js";
import { Shape } from "../parts/status.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").MessagePlan} Plan */
/** @typedef {import("../pages/msg_composer.js").Call} Call */
/** @typedef {import("../pages/msg_composer.js").Draft} Draft */
/** @typedef {{plans: Plan[], problems: Record<string, string>}} Preview  The problems by field. */

const NOTHING = { plans: [], problems: {} };

/**
 * Return what a draft would become, shortly after the last key, or in `hint` what it lacks.
 * @param {Call} call
 * @param {Draft} draft
 * @returns {Preview & {hint: string}}
 */
export function usePreviews(call, draft) {
  const [preview, setPreview] = useState(/** @type {Preview} */ (NOTHING));
  const hint = lacking(call, draft);
  const asked = JSON.stringify([call, hint]);
  useEffect(() => {
    if (hint) return setPreview(NOTHING);
    return afterPause((signal) => ask(call, signal).then((found) => signal.aborted || setPreview(found)));
  }, [asked]);
  return { ...preview, hint };
}

/** @param {Call} call @param {Draft} draft */
function lacking({ channel, body }, { target, text }) {
  if (!text.trim() && !body.title && !body.attach?.length) return MSG.previewNone;
  return channel && !target.trim() ? MSG.previewTarget : "";
}

/** @param {Call} call @param {AbortSignal} signal @returns {Promise<Preview>} */
async function ask({ path, body, channel }, signal) {
  const refused = (/** @type {string} */ error) => [{ channel, target: body.target ?? "", parts: [], warnings: [], fields: [], files: [], error, skipped: "" }];
  try {
    const answer = await api.post(path, { ...body, dry_run: true }, { signal });
    const plans = answer.plans ?? (answer.parts ? [{ ...answer, channel, target: body.target, error: "", skipped: "" }] : refused(answer.error));
    return { plans, problems: {} };
  } catch (problem) {
    const problems = problem instanceof ApiProblem ? problem.fields : {};
    const said = Object.keys(problems).length ? MSG.previewWrong : problem instanceof Error ? problem.message : String(problem);
    return { plans: refused(said), problems };
  }
}

/** @param {{plans: Plan[], hint: string, many: boolean, pictures: string[]}} props  `pictures` are the addresses of images among the files, by their order. */
export function Previews({ plans, hint, many, pictures }) {
  const failed = plans.filter(({ error, skipped }) => error && !skipped).length;
  return html`<section class=${many ? "previews previews--many" : "previews"} aria-labelledby="preview"><h3 id="preview">${MSG.preview}</h3>
    <p class=${plans.length ? "visually-hidden" : "muted"} role="status">${plans.length ? MSG.previewed(plans.length, failed) : hint}</p>
    ${plans.map((plan) => html`<${Target} key=${`${plan.channel} ${plan.target}`} plan=${plan} pictures=${pictures} />`)}</section>`;
}

/** @param {{plan: Plan, pictures: string[]}} props */
function Target({ plan, pictures }) {
  const name = channelName(plan.channel);
  const files = plan.files.map((file, index) => ({ ...file, picture: pictures[index] }));
  const all = Math.max(plan.parts.length, ...files.map(({ part }) => part));
  const numbers = [...Array(all).keys()].map((index) => index + 1);
  const changed = plan.fields.filter(({ support }) => support !== "native");
  return html`<article class="outcome" aria-label=${`${name} ${plan.target}`}>
    <h4>${name && html`<strong>${name}</strong> `}<span class="muted" dir="auto">${plan.target}</span></h4>
    ${plan.skipped ? html`<p class="outcome__note"><${Shape} tone="off" /> ${plan.skipped}</p>` : html`
      ${plan.error && html`<p class="outcome__note outcome__note--bad"><${Shape} tone="bad" /> <span dir="auto">${plan.error}</span></p>`}
      ${numbers.map((number) => html`<${Part} plan=${plan} number=${number} all=${all} name=${name} files=${files.filter(({ part }) => part === number)} />`)}
      ${changed.length > 0 && html`<ul class="outcome__fields">${changed.map(({ field, support, note }) => html`<li><${Shape} tone=${support === "ignored" ? "warn" : "info"} />
        <span><strong>${MSG.fields[field] ?? field}:</strong> <span dir="auto">${support === "ignored" ? MSG.ignored(note) : note}</span></span></li>`)}</ul>`}`}
  </article>`;
}

/** @param {{plan: Plan, number: number, all: number, name: string, files: import("../parts/message_files.js").ShownFile[]}} props */
function Part({ plan, number, all, name, files }) {
  const part = plan.parts[number - 1];
  const layout = part?.layout ?? { look: plan.parts[0]?.layout.look ?? "chat", sections: [], headers: [], silent: false };
  const label = part ? MSG.part(number, all, part.length) : MSG.filePart(number, all, files.length);
  return html`<figure class="outcome__part"><${Message} layout=${layout} label=${all > 1 ? `${name}, ${label}` : MSG.on(name)} files=${files} />
    <figcaption class="muted">${label}${layout.silent ? MSG.silently : ""}</figcaption></figure>`;
}
