// The entry point of the dashboard: the frame, and the common parts of all pages.
import { html, render, useEffect, useRef } from "../vendor/preact.js";
import { session } from "../lib/api.js";
import { useKeys } from "../lib/keys.js";
import { MANIFEST } from "../lib/manifest.js";
import { go, place } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { refreshStatus, startProblem, startStream, status } from "../lib/stream.js";
import { Failure } from "../parts/states.js";
import { Toasts } from "../parts/toast.js";
import { Header, Notices } from "../shell/header.js";
import { overlay, Overlays } from "../shell/overlays.js";
import { pageName, PageHost } from "../shell/page_host.js";
import { BottomBar, collapsed, Sidebar } from "../shell/sidebar.js";
import { chooseTheme } from "../lib/theme.js";
import { SHELL } from "../strings/shell.js";

const icon = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]"));
const IMAGE = icon.href;
const told = (/** @type {string} */ name) => document.querySelector(`meta[name=tocsin-${name}]`)?.getAttribute("content") ?? "";
const VERSION = told("version");

function App() {
  const small = useSignal(collapsed);
  const known = useSignal(status);
  const state = useSignal(session);
  const { path } = useSignal(place);
  useShellKeys();
  useFocusOnArrival(path);
  useEffect(() => {
    const needed = (known?.attention?.length ?? 0) + (known?.unread_notifications ?? 0) > 0;
    icon.href = needed ? IMAGE.replace("bell.svg", "bell-alert.svg") : IMAGE;
  }, [known]);
  // Before the first login there is no page to show: the login is the page.
  const asked = path === "/login";
  const behind = state === "in" || known !== null;
  useEffect(() => {
    if (asked && state === "needed") overlay.set("login");
    else if (asked && state === "in") go(place.get().query.next || "#/home");
  }, [asked, state]);
  if (asked || !behind) return html`<main class="entrance" id="content"><${StartFailure} /><${Overlays} page=${false} /></main><${Toasts} />`;
  return html`<div class=${`frame${small ? " frame--small" : ""}`}>
    <a class="skip" href="#content" onClick=${skip}>${SHELL.skip}</a>
    <${Sidebar} />
    <${Header} version=${VERSION} />
    <main class="content" id="content" tabindex="-1"><${Notices} version=${VERSION} /><${PageHost} /></main>
    <${BottomBar} />
    <${Arrival} />
  </div><${Overlays} page=${true} /><${Toasts} />`;
}

/** Announces the new page; the browser announces the first one. */
function Arrival() {
  const name = useSignal(pageName);
  const first = useRef("");
  first.current ||= name;
  return html`<p class="visually-hidden" role="status">${name === first.current ? "" : name}</p>`;
}

/** Shown if the server does not answer or has no login yet, with the reason. */
function StartFailure() {
  const problem = useSignal(startProblem);
  const retry = () => {
    startProblem.set(null);
    void refreshStatus();
  };
  return problem && session.get() !== "needed" ? html`<${Failure} error=${problem} retry=${retry} page />` : null;
}

/** The page uses the address: a link to a place in the page must not change it. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

/** Move the focus to the heading of a new page, for screen readers. @param {string} path */
function useFocusOnArrival(path) {
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    document.getElementById("content")?.focus();
    scrollTo(0, 0);
  }, [path]);
}

function useShellKeys() {
  const { everywhere, go: goTo } = SHELL.keyGroups;
  useKeys([
    { keys: "mod+k", label: SHELL.keys.palette, group: everywhere, run: () => overlay.set("palette") },
    { keys: "?", label: SHELL.keys.help, group: everywhere, run: () => overlay.set("shortcuts") },
    { keys: "/", label: SHELL.keys.filter, group: everywhere, run: focusFilter },
    { keys: "mod+b", label: SHELL.keys.sidebar, group: everywhere, run: () => collapsed.update((small) => !small) },
    { keys: "t", label: SHELL.keys.theme, group: everywhere, run: otherTheme },
    ...MANIFEST.pages.filter(({ key }) => key).map(({ name, title, key }) => ({ keys: `g ${key}`, label: title, group: goTo, run: () => go(`#/${name}`) })),
  ]);
}

function otherTheme() {
  chooseTheme(document.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark");
}

/** Focus the filter, marked with `data-filter`; on a page without one, open the palette. */
function focusFilter() {
  const field = /** @type {HTMLElement | null} */ (document.querySelector("main [data-filter]"));
  if (field) field.focus();
  else overlay.set("palette");
}

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.textContent = "";
render(html`<${App} />`, root);
startStream();
// A rejected request would be logged in the browser's console.
if (told("signed-in") === "no") session.set("needed");
else void refreshStatus();
