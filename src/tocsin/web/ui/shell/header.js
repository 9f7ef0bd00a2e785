// The bar above the page: search, the state of updates, the bell, theme and account.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, endLogin, reach, session } from "../lib/api.js";
import { relative } from "../lib/format.js";
import { isMac } from "../lib/keys.js";
import { useSignal } from "../lib/store.js";
import { liveness, status, useAway } from "../lib/stream.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/mark.js";
import { Popover } from "../parts/popover.js";
import { HEADER_ITEMS } from "../shell/header_items.js";
import { overlay } from "../shell/overlays.js";
import { chooseTheme, theme } from "../lib/theme.js";
import { toast } from "../parts/toast.js";
import { SHELL } from "../strings/shell.js";

/** @param {{version: string}} props */
export function Header({ version }) {
  return html`<header class="header">
    <a class="brand brand--small" href="#/home" aria-label=${SHELL.toHome}><${Mark} /></a>
    <button type="button" class="search-button" onClick=${() => overlay.set("palette")}>
      <${Icon} name="search" size=${16} /><span>${SHELL.search}</span><kbd aria-hidden="true">${isMac ? "⌘K" : "Ctrl K"}</kbd>
    </button>
    <span class="header__space"></span>
    <${Live} />${HEADER_ITEMS.map((Item) => html`<${Item} />`)}<${Menu} version=${version} />
  </header>`;
}

function Live() {
  const { state } = useSignal(liveness);
  const seconds = useRetry();
  const retrying = seconds ? SHELL.live.retry(seconds) : SHELL.live.connecting;
  const short = { live: SHELL.live.live, connecting: SHELL.live.connecting, retrying }[state];
  return html`<span class=${`live live--${state}`} title=${state === "live" ? SHELL.live.liveTitle : short}><span class="live__dot"></span><span class="live__text">${short}</span></span>`;
}

/** Return the seconds until the next retry, 0 during one; undefined if none is needed. */
function useRetry() {
  const { state, retryAt = 0 } = useSignal(liveness);
  const [, redraw] = useState(0);
  useEffect(() => {
    if (state !== "retrying") return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, [state]);
  return state === "retrying" ? Math.max(0, Math.ceil((retryAt - Date.now()) / 1000)) : undefined;
}

/** @param {{version: string}} props */
function Menu({ version }) {
  return html`<${Popover} label=${SHELL.menu} button=${html`<${Icon} name="settings" />`}>
    ${(/** @type {() => void} */ close) => html`<div class="menu">
      <${ThemeSwitch} />
      <button type="button" class="menu__item" onClick=${() => (close(), overlay.set("shortcuts"))}>
        <${Icon} name="keyboard" />${SHELL.shortcuts}<kbd>?</kbd></button>
      <button type="button" class="menu__item" onClick=${() => (close(), signOut())}><${Icon} name="logout" />${SHELL.signOut}</button>
      <p class="menu__note">${SHELL.product} ${version}</p>
    </div>`}
  <//>`;
}

/** End the session; the login is shown. */
export async function signOut() {
  try {
    await call("POST", "/logout");
  } catch (error) {
    toast.problem(error);
    return;
  }
  status.set(null);
  endLogin(false);
}

export function ThemeSwitch() {
  const chosen = useSignal(theme);
  /** @type {[keyof typeof SHELL.themes, string][]} */
  const options = [["light", "sun"], ["dark", "moon"], ["system", "system"]];
  return html`<fieldset class="segments">
    <legend class="visually-hidden">${SHELL.theme}</legend>
    ${options.map(([name, icon]) => html`<label class="segments__item">
      <input type="radio" name="theme" value=${name} checked=${chosen === name} onChange=${() => chooseTheme(name)} />
      <span><${Icon} name=${icon} size=${15} />${SHELL.themes[name]}</span></label>`)}
  </fieldset>`;
}

/** A line above the page while there is a general problem. @param {{version: string}} props */
export function Notices({ version }) {
  const { state, until, crowded } = useSignal(reach);
  const known = useSignal(status);
  const signedIn = useSignal(session);
  const { draining } = useSignal(liveness);
  const away = useAway();
  const seconds = useRetry();
  const asking = useSignal(overlay) === "login";
  const newer = known?.version && known.version !== version;
  const reload = html`<button type="button" class="button button--small" onClick=${() => location.reload()}>${SHELL.reload}</button>`;
  const signIn = html`<button type="button" class="button button--small" onClick=${() => overlay.set("login")}>${SHELL.signIn}</button>`;
  return html`<div class="notices" role="status">
    ${newer && html`<p class="notice notice--info">${SHELL.newer} ${reload}</p>`}
    ${signedIn === "needed" && !asking && html`<p class="notice notice--warn">${SHELL.signedOut} ${signIn}</p>`}
    ${(draining || away) && html`<p class=${`notice notice--${draining ? "warn" : "bad"}`}><span>${draining ? SHELL.draining : SHELL.offline}${" "}
      ${seconds !== undefined && html`<span class="numbers" aria-hidden="true">${seconds ? SHELL.live.retryShort(seconds) : SHELL.live.connecting}</span>`}</span></p>`}
    ${state === "waiting" && html`<p class="notice notice--warn">${SHELL[crowded ? "crowded" : "notReady"](relative(until ?? 0, Date.now()))}</p>`}
  </div>`;
}
