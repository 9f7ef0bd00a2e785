// The login: a full page at first, and a dialog over the page when a session ends.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { ApiProblem, call, endLogin } from "../lib/api.js";
import { go, place } from "../lib/router.js";
import { refreshStatus } from "../lib/stream.js";
import { Mark } from "../parts/mark.js";
import { Shape } from "../parts/status.js";
import { SHELL } from "../strings/shell.js";

/** @param {{page: boolean, close: () => void}} props */
export function Login({ page, close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    if (page) dialog.current?.showModal();
    else document.title = `${SHELL.signIn} · ${SHELL.product}`;
  }, []);
  const done = () => {
    close();
    if (place.get().path === "/login") go(place.get().query.next || "#/home");
    endLogin(true);
    void refreshStatus();
  };
  const cancel = () => {
    close();
    endLogin(false);
  };
  const title = page ? SHELL.login.again : SHELL.login.title;
  const form = html`<${LoginForm} title=${title} text=${page ? SHELL.login.againText : ""} done=${done} />`;
  if (!page) return html`<div class="login">${form}</div>`;
  return html`<dialog class="dialog login" ref=${dialog} onCancel=${cancel} aria-label=${title}>${form}</dialog>`;
}

/** @param {{title: string, text: string, done: () => void}} props */
function LoginForm({ title, text, done }) {
  const [problem, setProblem] = useState(/** @type {ApiProblem | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [shown, setShown] = useState(false);
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const fields = new FormData(form);
    setBusy(true);
    try {
      const body = { username: fields.get("username"), password: fields.get("password"), remember: fields.has("remember") };
      await call("POST", "/login", body);
      done();
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error : new ApiProblem({ code: "fault", title: String(error) }));
      setBusy(false);
      /** @type {HTMLInputElement | null} */ (form.querySelector("[name=password]"))?.select();
    }
  };
  return html`<form class="login__form" onSubmit=${submit}>
    <${Mark} size=${40} />
    <h1>${title}</h1>
    ${text && html`<p class="muted">${text}</p>`}
    ${problem && html`<div class="login__problem" role="alert"><${Shape} tone="bad" size=${16} /><p>${problem.detail || problem.title}
      ${problem.retryAfter ? ` ${SHELL.login.throttled(problem.retryAfter)}` : ""}</p></div>`}
    <label class="field"><span class="field__label">${SHELL.login.user}</span>
      <input class="input" name="username" autocomplete="username" autocapitalize="none" spellcheck=${false} required autofocus /></label>
    <label class="field"><span class="field__label">${SHELL.login.password}</span>
      <input class="input" name="password" type=${shown ? "text" : "password"} autocomplete="current-password" required /></label>
    <label class="check"><input type="checkbox" onChange=${() => setShown(!shown)} /> ${SHELL.login.show}</label>
    <label class="check"><input type="checkbox" name="remember" /> ${SHELL.login.remember}</label>
    <button class="button button--primary" disabled=${busy}>${busy ? SHELL.login.busy : SHELL.login.submit}</button>
    <p class="login__where">${SHELL.login.where} <code>${SHELL.login.command}</code></p>
  </form>`;
}
