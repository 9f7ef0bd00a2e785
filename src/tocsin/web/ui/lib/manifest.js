// The manifest of the server: pages, kinds of run, searchable records and events of this installation.

/**
 * @typedef {object} PageEntry
 * @property {string} name  Of its address and its icon.
 * @property {string} title
 * @property {string} icon  Lines on a field of 20 by 20; empty for pages of the core.
 * @property {"operate" | "talk" | "knowledge" | "secure" | "system"} group
 * @property {string} key  After `g`.
 * @property {boolean} often  Whether the bar at the bottom of a small screen has it.
 * @property {string} subsystem  Whose state the menu shows.
 * @property {string} badge  The number of the status report that the menu shows: `runs.active`.
 * @property {Record<string, string>} routes  Modules by the address below the page: `{"/:id": "features/cron/job"}`.
 */
/** @typedef {() => import("../vendor/preact.js").Child} HeaderItem */
/** @typedef {{label: string, page: string, key: "subject_id" | "subject_name" | "", part: string}} RunKind */
/** @typedef {{page: string, path: string, label: string, key: string, can_run: boolean}} SearchList */
/** @typedef {{label: string, icon: string, address: string, post: string, command: string, on_home: boolean}} Shortcut */
/**
 * @typedef {object} FirstStep
 * @property {string} subsystem
 * @property {string} title
 * @property {string} hint
 * @property {string} action
 * @property {string} form  The module whose `StepForm` the step opens.
 * @property {string} scope  Needed for the form.
 * @property {string} count  The step is done once the subsystem counts one of these,
 * @property {string} state  or the answer of `GET` to this path has `done`.
 */
/** @typedef {{done: () => void, close: () => void}} StepFormProps  `done`: read the state again. */
/**
 * @typedef {object} Manifest
 * @property {PageEntry[]} pages  In the order of the menu.
 * @property {Record<string, RunKind>} run_kinds
 * @property {SearchList[]} lists
 * @property {Shortcut[]} shortcuts
 * @property {{page: string, path: string} | null} upcoming  What lists the runs that are due, and the page of their schedules.
 * @property {FirstStep[]} first_steps
 * @property {string[]} topics  Of the stream, beside those of the core.
 * @property {string[]} events  The families of their events: `cron` of `cron.updated`.
 * @property {{families: string[], sources: string[]}} audit
 */

/** @type {Manifest} */
export const MANIFEST = JSON.parse(document.getElementById("manifest")?.textContent ?? "");

/** The first shortcut of an empty installation. */
export const FIRST_SHORTCUT = MANIFEST.shortcuts.find((shortcut) => shortcut.on_home);

/** Return the events of all features with an ending, for `events` of a page: `*`, `created`. @param {string} ending */
export function featureEvents(ending) {
  return MANIFEST.events.map((family) => `${family}.${ending}`).join(" ");
}

/** Return the page of a subsystem. @param {string} subsystem */
export function pageOfSubsystem(subsystem) {
  return MANIFEST.pages.find((page) => page.subsystem === subsystem);
}

/** Return the name of a kind on the pages of runs. @param {string} kind */
export function nameOfKind(kind) {
  return MANIFEST.run_kinds[kind]?.label ?? kind;
}

/** Return the address of a run's subject; empty if it has no page. @param {{kind: string, subject_id: string, subject_name: string}} run */
export function addressOfSubject(run) {
  const kind = MANIFEST.run_kinds[run.kind];
  return kind?.key ? `#/${kind.page}/${encodeURIComponent(run[kind.key])}` : "";
}
