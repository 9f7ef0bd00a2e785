// The palette: open any page and run any action by typing a few letters.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { MANIFEST } from "../lib/manifest.js";
import { go, link } from "../lib/router.js";
import { remembered } from "../lib/store.js";
import { chooseTheme } from "../lib/theme.js";
import { Icon } from "../parts/icon.js";
import { toast } from "../parts/toast.js";
import { signOut } from "../shell/header.js";
import { overlay, takeEarly } from "../shell/overlays.js";
import { SHELL } from "../strings/shell.js";

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} group
 * @property {string} label
 * @property {string} icon
 * @property {string} [href]
 * @property {() => Promise<unknown>} [run]
 */

const WORDS = SHELL.palette;
const MOST_SHOWN = 40;
const MOST_READ = 200;
const KEEP_MS = 60_000;
const recent = remembered("palette", /** @type {string[]} */ ([]), Array.isArray);
let known = { at: 0, entries: /** @type {Entry[]} */ ([]) };

/** @param {{close: () => void}} props */
export function Palette({ close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const [entries, setEntries] = useState(() => [...fixedEntries(), ...known.entries]);
  const [reading, setReading] = useState(!known.at);
  // Before the next key, which belongs to this field.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    setText(takeEarly());
  }, []);
  useEffect(() => {
    if (Date.now() - known.at < KEEP_MS) return;
    void readEntries().then((found) => {
      known = { at: Date.now(), entries: found };
      setEntries([...fixedEntries(), ...found]);
      setReading(false);
    });
  }, []);
  const shown = useMemo(() => search(entries, text), [entries, text]);
  useEffect(() => dialog.current?.querySelector(`#palette-${active}`)?.scrollIntoView({ block: "nearest" }), [active]);
  /** @param {Entry | undefined} entry */
  const choose = (entry) => {
    if (!entry) return;
    close();
    recent.set([entry.id, ...recent.get().filter((id) => id !== entry.id)].slice(0, 6));
    if (entry.href) go(entry.href);
    else entry.run?.().catch(toast.problem);
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setActive((active + step + shown.length) % Math.max(shown.length, 1));
    else if (event.key === "Enter") choose(shown[active]);
    else return;
    event.preventDefault();
  };
  /** @param {{currentTarget: HTMLInputElement}} event */
  const onInput = (event) => {
    setText(event.currentTarget.value);
    setActive(0);
  };
  return html`<dialog class="dialog palette" ref=${dialog} aria-label=${WORDS.title} onCancel=${(/** @type {Event} */ event) => (event.preventDefault(), close())}
      onMouseDown=${(/** @type {Event} */ event) => event.target === dialog.current && close()}>
    <input class="palette__field" autofocus role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label=${WORDS.title}
      aria-activedescendant=${shown.length ? `palette-${active}` : undefined} placeholder=${WORDS.placeholder} autocomplete="off" spellcheck=${false}
      value=${text} onInput=${onInput} onKeyDown=${onKey} />
    <div class="palette__list" id="palette-list" role="listbox" aria-label=${WORDS.title}>
      ${shown.map((entry, index) => [
        entry.group !== shown[index - 1]?.group && html`<div class="palette__group" role="presentation">${entry.group}</div>`,
        html`<div class="palette__item" key=${`${entry.group} ${entry.id}`} id=${`palette-${index}`} role="option" aria-selected=${index === active} onMouseMove=${() => setActive(index)} onClick=${() => choose(entry)}>
          <${Icon} name=${entry.icon} size=${16} /><span dir="auto">${entry.label}</span></div>`,
      ])}
    </div>
    <p class="palette__note" role="status">${shown.length ? WORDS.keys(shown.length) : reading ? WORDS.reading : WORDS.none}</p>
  </dialog>`;
}

/** @returns {Entry[]} */
function fixedEntries() {
  const pages = MANIFEST.pages.map(({ name, title }) => ({ id: `page ${name}`, group: WORDS.pages, icon: name, href: link(name), label: title }));
  const actions = MANIFEST.shortcuts.map(({ label, icon, address, post }) => ({
    id: label, group: WORDS.actions, label, icon, ...(post ? { run: () => api.post(post) } : { href: address }),
  }));
  return [...pages, ...actions, ...menuEntries()];
}

/** The entries of the menu "Theme and account". @returns {Entry[]} */
function menuEntries() {
  /** @type {[string, string, () => unknown][]} */
  const found = [
    [WORDS.theme(SHELL.themes.light), "sun", () => chooseTheme("light")],
    [WORDS.theme(SHELL.themes.dark), "moon", () => chooseTheme("dark")],
    [WORDS.theme(SHELL.themes.system), "system", () => chooseTheme("system")],
    [SHELL.shortcuts, "keyboard", () => overlay.set("shortcuts")],
    [SHELL.signOut, "logout", signOut],
  ];
  return found.map(([label, icon, act]) => ({ id: label, group: WORDS.actions, label, icon, run: async () => act() }));
}

/** Load the server's entries; a list that is unavailable is omitted. @returns {Promise<Entry[]>} */
async function readEntries() {
  const found = await Promise.allSettled(MANIFEST.lists.map(({ path }) => api.get(path, { limit: MOST_READ })));
  return found.flatMap((list, index) => {
    const { page, path, label, key, can_run } = MANIFEST.lists[index];
    const items = list.status === "fulfilled" ? list.value.items : [];
    return items.flatMap((/** @type {any} */ item) => [
      { id: `${page} ${item.name}`, group: label, icon: page, label: item.name, href: link(page, item[key]) },
      ...(can_run ? [runEntry(item.name, `${path}/${encodeURIComponent(item[key])}/run`)] : []),
    ]);
  });
}

/** @param {string} name @param {string} path @returns {Entry} */
function runEntry(name, path) {
  const run = async () => go(link("runs", (await api.post(path)).id));
  return { id: `run ${name}`, group: WORDS.actions, icon: "play", label: WORDS.run(name), run };
}

/** @param {Entry[]} entries @param {string} text @returns {Entry[]} */
function search(entries, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) {
    const last = recent.get().flatMap((id) => entries.filter((entry) => entry.id === id));
    const pages = entries.filter((entry) => entry.group === WORDS.pages || (entry.group === WORDS.actions && !entry.id.startsWith("run ")));
    return [...last.map((entry) => ({ ...entry, group: WORDS.recent })), ...pages];
  }
  const scored = entries.map((entry) => ({ entry, score: scoreOf(entry.label.toLowerCase(), words) })).filter(({ score }) => score > 0);
  const best = scored.sort((one, other) => other.score - one.score).slice(0, MOST_SHOWN);
  // Each group is listed once, at its best entry.
  const groups = [...new Set(best.map(({ entry }) => entry.group))];
  return groups.flatMap((group) => best.filter(({ entry }) => entry.group === group).map(({ entry }) => entry));
}

/**
 * @param {string} label
 * @param {string[]} words
 * @returns {number}  0 where a word is missing; more for a beginning than for the middle, and for a whole word.
 */
function scoreOf(label, words) {
  let score = 0;
  for (const word of words) {
    const at = label.indexOf(word);
    if (at < 0) return 0;
    score += at === 0 ? 4 : /\W/.test(label[at - 1]) ? 3 : 1;
  }
  return score + 1 / label.length;
}
