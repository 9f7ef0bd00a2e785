// The step that proves that the sign-in is kept: enter it once.
import { html } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { Form } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { CHECKLIST } from "../strings/home_steps.js";

/** @param {{step: import("../types/records.js").FirstSteps["sign_in"], done: () => Promise<void>, close: () => void}} props */
export function SignInForm({ step, done, close }) {
  const submit = async (/** @type {Record<string, any>} */ { username, password }) => {
    await call("POST", "/login", { username, password });
    toast.ok(CHECKLIST.signInKept);
    close();
    await done();
  };
  const fields = [
    { name: "username", label: CHECKLIST.user, required: true, type: /** @type {"custom"} */ ("custom"), draw: drawWith("text", "username") },
    { name: "password", label: CHECKLIST.password, required: true, type: /** @type {"custom"} */ ("custom"), draw: drawWith("password", "current-password") },
  ];
  return html`<p class="muted">${CHECKLIST.signInWhere(step.file)}</p>
    <${Form} fields=${fields} values=${{ username: step.user, password: "" }} submit=${submit} submitLabel=${CHECKLIST.signInSubmit} cancel=${close} label=${CHECKLIST.signIn} />`;
}

/** Browsers offer to store what is entered in such fields. @param {string} type @param {string} autocomplete */
function drawWith(type, autocomplete) {
  return (/** @type {import("../parts/field.js").ControlProps} */ { id, value, set, aria }) => html`<input id=${id} class="input" type=${type} name=${autocomplete}
    autocomplete=${autocomplete} autocapitalize="none" spellcheck=${false} value=${value ?? ""} ...${aria} onInput=${(/** @type {any} */ event) => set(event.currentTarget.value)} />`;
}
