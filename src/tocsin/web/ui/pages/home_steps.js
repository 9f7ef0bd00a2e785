// First steps on a new installation, each with its form, until all are done or the list is hidden.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { MANIFEST } from "../lib/manifest.js";
import { ActionButton } from "../parts/action.js";
import { Later } from "../parts/later.js";
import { Failure } from "../parts/states.js";
import { Shape } from "../parts/status.js";
import { toast } from "../parts/toast.js";
import { CHECKLIST } from "../strings/home_steps.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").StatusReport} StatusReport */
/** @typedef {import("../types/records.js").FirstSteps} State */
/** @typedef {{state: State, channels: Channel[], further: boolean[]}} Found */
/** @typedef {import("../vendor/preact.js").Child} Child */
/**
 * @typedef {object} StepSpec
 * @property {string} title
 * @property {string} hint
 * @property {boolean} done
 * @property {string} scope  Needed for its action.
 * @property {string} [action]  Opens the form.
 * @property {() => Promise<unknown>} [load]  Gives the form, a component.
 * @property {Record<string, any>} [props]  Of the form.
 * @property {Child} [actions]  Instead of a form.
 */

/** @param {{report: StatusReport, state: State}} props */
export function FirstSteps({ report, state }) {
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [away, setAway] = useState(false);
  const read = (first = false) => readSteps(first ? state : null).then((now) => {
    setError(null);
    setFound(now);
    if (first && stepsOf(now, report, read).every((step) => step.done)) finish();
  }, setError);
  const hide = async () => {
    await api.post("/api/settings/first-steps", { dismissed: true });
    setAway(true);
    toast.info(CHECKLIST.hidden);
  };
  const finish = () => {
    setAway(true);
    toast.ok(CHECKLIST.allDone);
    if (state.scopes.includes("admin")) void api.post("/api/settings/first-steps", { dismissed: true }).catch(toast.problem);
  };
  useEffect(() => void read(true), []);
  if (away || !(found || error)) return null;
  const steps = found ? stepsOf(found, report, read) : [];
  const done = steps.filter((step) => step.done).length;
  const next = steps.findIndex((step) => !step.done);
  return html`<section class="panel steps" aria-labelledby="first-steps"><div class="panel__head">
      <h2 id="first-steps">${CHECKLIST.title}</h2><span class="row">${found && html`<span class="muted">${CHECKLIST.progress(done, steps.length)}</span>`}
      ${state.scopes.includes("admin") && html`<${ActionButton} small run=${hide}>${CHECKLIST.hide}<//>`}</span></div>
    ${error && html`<${Failure} error=${error} retry=${() => read(!found)} compact />`}
    <ol>${steps.map((step, index) => html`<${Step} key=${step.title} spec=${step} number=${index + 1} next=${index === next} scopes=${state.scopes} />`)}</ol></section>`;
}

/** @param {Found} found @param {StatusReport} report @param {() => Promise<void>} read @returns {StepSpec[]} */
function stepsOf({ state, channels, further }, report, read) {
  const configured = channels.filter((channel) => channel.configured);
  const test = (/** @type {Channel} */ channel) => html`<${ActionButton} small run=${() => testChannel(channel).then(read)}>${CHECKLIST.testAction(channel.label)}<//>`;
  return [
    {
      title: CHECKLIST.signIn, hint: CHECKLIST.signInHint, done: state.sign_in.done, scope: "", action: CHECKLIST.signInAction,
      load: () => import("../pages/home_sign_in.js").then((module) => module.SignInForm), props: { step: state.sign_in, done: read },
    },
    {
      title: CHECKLIST.channel, hint: CHECKLIST.channelHint, done: configured.length > 0, scope: "admin", action: CHECKLIST.channelAction,
      load: () => import("../pages/home_connect.js").then((module) => module.ConnectForm), props: { channels: channels.filter((channel) => channel.available), connected: read },
    },
    {
      title: CHECKLIST.test, hint: CHECKLIST.testHint, done: configured.some((channel) => channel.last_test?.ok), scope: "send",
      actions: configured.length ? configured.map(test) : html`<span class="muted">${CHECKLIST.needsChannel}</span>`,
    },
    ...MANIFEST.first_steps.map((step, index) => ({
      ...step,
      done: step.state ? further[index] : (report.subsystems[step.subsystem]?.counts[step.count] ?? 0) > 0,
      load: () => import(`../${step.form}.js`).then((module) => module.StepForm), props: { done: read, channels: configured },
    })),
  ];
}

/** @param {{spec: StepSpec, number: number, next: boolean, scopes: string[]}} props */
function Step({ spec, number, next, scopes }) {
  const { title, hint, done, scope, action, load, props, actions } = spec;
  const [open, setOpen] = useState(false);
  const allowed = !scope || scopes.includes(scope);
  return html`<li class=${done ? "steps__done" : next ? "steps__next" : ""}>
    ${done ? html`<${Shape} tone="ok" size=${20} />` : html`<span class="steps__number" aria-hidden="true">${number}</span>`}
    <span class="steps__text"><strong>${title}</strong>${done ? html`<span class="visually-hidden">: ${CHECKLIST.done}</span>` : html`<br /><span class="muted">${hint}</span>`}</span>
    ${!done && !allowed && html`<span class="muted">${CHECKLIST.needsScope(scope)}</span>`}
    ${!done && allowed && !open && html`<span class="row">${load ? html`<button type="button" class="button button--small" onClick=${() => setOpen(true)}>${action}</button>` : actions}</span>`}
    ${open && html`<div class="steps__connect"><${Later} load=${load} props=${{ ...props, close: () => setOpen(false) }} /></div>`}</li>`;
}

/** @param {Channel} channel */
async function testChannel(channel) {
  const result = await api.post(url`/api/msg/test/${channel.channel}`);
  if (result.ok) toast.ok(result.message || CHECKLIST.done);
  else toast.problem(new Error(result.error));
}

/** @param {State | null} known @returns {Promise<Found>} */
async function readSteps(known) {
  const [state, channels, ...further] = await Promise.all([
    known ?? api.get("/api/settings/first-steps"),
    api.get("/api/msg/channels"),
    ...MANIFEST.first_steps.map((step) => (step.state ? api.get(/** @type {any} */ (step.state)) : null)),
  ]);
  return { state, channels: channels.items, further: further.map((answer) => Boolean(/** @type {any} */ (answer)?.done)) };
}
