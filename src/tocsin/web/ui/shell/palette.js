// Go anywhere and run anything by typing a few letters.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { go, link } from "../lib/router.js";
import { remembered } from "../lib/store.js";
import { Icon } from "../parts/icon.js";
import { toast } from "../parts/toast.js";
import { takeEarly } from "../shell/overlays.js";
import { AREAS } from "../shell/routes.js";
import { SHELL } from "../strings/shell.js";

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} group
 * @property {string} label
 * @property {string} icon
 * @property {string} [also]  Further words that find it.
 * @property {string} [href]
 * @property {() => Promise<unknown>} [run]
 */

const WORDS = SHELL.palette;
const MOST_SHOWN = 40;
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
  // Before the next key: what is typed at once belongs here.
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
  const pages = AREAS.map(({ name }) => ({
    id: `page ${name}`, group: WORDS.pages, icon: name, href: link(name),
    label: SHELL.pages[/** @type {keyof typeof SHELL.pages} */ (name)],
  }));
  const actions = [
    { id: "new job", label: WORDS.newJob, icon: "plus", href: "#/cron/new" },
    { id: "send", label: WORDS.send, icon: "msg", href: "#/msg" },
    { id: "ssh run", label: WORDS.sshRun, icon: "ssh", href: "#/ssh" },
    { id: "new chat", label: WORDS.newChat, icon: "chat", href: "#/chat" },
    { id: "read all", label: WORDS.readAll, icon: "check", run: () => api.post("/api/notifications/read-all") },
  ];
  return [...pages, ...actions.map((action) => ({ ...action, group: WORDS.actions }))];
}

/** What the server has; a part that it does not have is left out. @returns {Promise<Entry[]>} */
async function readEntries() {
  const limit = 200;
  const lists = await Promise.allSettled([
    api.get("/api/cron/jobs", { limit }), api.get("/api/workflows", { limit }),
    api.get("/api/ssh/hosts"), api.get("/api/skills"),
  ]);
  const [jobs, workflows, hosts, skills] = lists.map((list) => (list.status === "fulfilled" ? list.value.items : []));
  return [
    ...jobs.flatMap((/** @type {any} */ job) => pair(WORDS.jobs, "cron", job.name, link("cron", job.id), url`/api/cron/jobs/${job.id}/run`)),
    ...workflows.map((/** @type {any} */ one) => single(WORDS.workflows, "workflows", one.name, link("workflows", one.name))),
    ...hosts.map((/** @type {any} */ host) => single(WORDS.hosts, "ssh", host.name, link("ssh", host.name))),
    ...skills.map((/** @type {any} */ skill) => single(WORDS.skills, "skills", skill.name, link("skills", skill.name))),
  ];
}

/** @param {string} group @param {string} icon @param {string} label @param {string} href @returns {Entry} */
function single(group, icon, label, href) {
  return { id: `${icon} ${label}`, group, icon, label, href };
}

/** @param {string} group @param {string} icon @param {string} name @param {string} href @param {string} path @returns {Entry[]} */
function pair(group, icon, name, href, path) {
  const run = async () => go(link("runs", (await api.post(path)).id));
  return [single(group, icon, name, href), { id: `run ${name}`, group: WORDS.actions, icon: "play", label: WORDS.run(name), run }];
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
  // Each group stands once, where its best entry is.
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
