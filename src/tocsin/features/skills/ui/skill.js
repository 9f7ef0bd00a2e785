// One skill: whether it is active and why, its requirements, its instructions, its runs and their findings.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage, withHeard, withRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { link, setQuery } from "tocsin/lib/router.js";
import { CodeView } from "tocsin/parts/code.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Said } from "tocsin/parts/said.js";
import { Empty } from "tocsin/parts/states.js";
import { causeOf, Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { SkillRun } from "./findings.js";
import { runSkill, standingOf } from "./run.js";
import { SKILL, SKILLS, SKILL_RUN } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Skill} Skill */
/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {{skill: Skill, runs: import("tocsin/types/records.js").List<Run>}} Data */

export const page = definePage({
  title: ({ params }) => params.name,
  reloadOn: ["file"],
  /** @returns {Promise<Data>} */
  load: async ({ params, query, signal }) => {
    const [skill, runs] = await Promise.all([
      api.get(url`/api/skills/${params.name}`, { file: query.file }, { signal }),
      api.get("/api/runs", asked(params.name), { signal }),
    ]);
    return { skill, runs };
  },
  View: One,
  events: "run.created run.updated",
  onEvent: withRun,
});

/** @param {string} name */
function asked(name) {
  return { kind: "skill", subject: name, limit: 50 };
}

/** @param {Data} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function withRun(data, { data: run }) {
  if (run.kind !== "skill" || run.subject_name !== data.skill.name) return data;
  const runs = withHeard(data.runs, run, "id");
  return runs && { ...data, runs };
}

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function One({ data, query, change }) {
  const { skill, runs } = data;
  const begin = () => runSkill(skill, (run) => {
    change((now) => ({ ...now, runs: withRecord(now.runs, run, "id") }));
    setQuery({ tab: "runs", run: run.id });
  });
  useKeys(skill.runnable ? [{ keys: "r", label: SKILL_RUN.run, run: begin }] : []);
  const actions = skill.runnable && html`<button type="button" class="button button--primary" onClick=${begin}><${Icon} name="play" size=${16} />${SKILL_RUN.run}</button>`;
  const note = html`<span class="row"><${Status} state=${standingOf(skill)} />${SKILLS.kinds[skill.kind]}${skill.built_in ? ` · ${SKILLS.builtIn}` : ""}</span><p dir="auto">${skill.description}</p>
    <p class="muted"><${Said} text=${skill.active_reason} /></p>`;
  const body = skill.body;
  const more = nextPage(runs, (then) => change((now) => ({ ...now, runs: then(now.runs) })), "/api/runs", asked(skill.name));
  return html`<${PageHead} title=${skill.name} note=${note} back=${{ href: "#/skills", label: SKILLS.back }} actions=${actions} />
    <${Problems} skill=${skill} />
    <${Tabs} label=${skill.name} tabs=${[
      { name: "about", label: SKILL.about, view: () => html`<${Why} skill=${skill} file=${query.file ?? ""} /><${Facts} skill=${skill} />` },
      ...(body ? [{ name: "body", label: SKILL.body, view: () => html`<${CodeView} text=${body} label=${SKILL.body} />` }] : []),
      { name: "runs", label: SKILL.runs, count: Math.max(skill.runs_30d, runs.items.length), view: () => html`<${Runs} skill=${skill} runs=${runs} more=${more} chosen=${query.run} />` },
    ]} />`;
}

/** @param {{skill: Skill}} props */
function Problems({ skill }) {
  return html`${skill.errors.length > 0 && html`<section class="notice notice--bad skill__notice" aria-label=${SKILL.problems}>${skill.errors.map((one) => html`<p dir="auto"><${Shape} tone="bad" /> ${one.line > 0 && html`<span class="numbers">${SKILL.line} ${one.line}: </span>`}${one.detail}</p>`)}</section>`}
    ${skill.warnings.length > 0 && html`<section class="notice notice--warn skill__notice" aria-label=${SKILL.warnings}>${skill.warnings.map((one) => html`<p dir="auto"><${Shape} tone="warn" /> ${one.detail} ${one.fix && html`<span>${SKILL.fix} <code class="wraps">${one.fix}</code></span>`}</p>`)}</section>`}
    ${skill.hints.length > 0 && html`<section class="notice notice--info skill__notice" aria-label=${SKILL.hints}>${skill.hints.map((one) => html`<p dir="auto"><${Shape} tone="info" /> ${one.line > 0 && html`<span class="numbers">${SKILL.line} ${one.line}: </span>`}${one.detail}</p>`)}</section>`}`;
}

/** The four checks, for a file if one is given. @param {{skill: Skill, file: string}} props */
function Why({ skill, file }) {
  const [typed, setTyped] = useState(file);
  // For a program the answers are always the same: show one sentence.
  const checks = skill.priority === null ? [] : (skill.checks ?? []);
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery({ file: typed.trim() });
  };
  return html`<section class="panel" aria-labelledby="why"><div class="panel__head"><h2 id="why">${SKILL.why}</h2></div><div class="panel__body stack">
    ${!checks.length && html`<p class="muted">${SKILL.noChecks}</p>`}
    <ol class="whys">${checks.map(({ question, ok, reason }) => {
      const [tone, word] = SKILL.answer[String(ok)];
      return html`<li><span class=${`status status--${tone}`}><${Shape} tone=${tone} />${word}</span><span><strong><${Said} text=${question} /></strong><br /><span class="muted"><${Said} text=${reason} /></span></span></li>`;
    })}</ol>
    ${checks.length > 0 && html`<form class="whys__ask" onSubmit=${ask}><label class="field"><span class="field__label">${SKILL.whyFile}</span>
      <input class="input input--mono" value=${typed} autocomplete="off" spellcheck=${false} placeholder="src/app.py" aria-describedby="why-hint" onInput=${(/** @type {any} */ event) => setTyped(event.currentTarget.value)} /></label>
      <button class="button">${SKILL.ask}</button><span class="field__hint" id="why-hint">${SKILL.whyHint}</span></form>`}</div></section>`;
}

/** @param {{skill: Skill}} props */
function Facts({ skill }) {
  return html`<dl class="facts panel panel__body">
    ${skill.kind === "runnable" && fact(SKILL.needs, skill.dependencies.length ? html`<ul class="needs">${skill.dependencies.map((one) => html`<li><${Shape} tone=${one.found ? "ok" : "bad"} /> <code>${one.name}</code> <span class="muted" dir="auto">${one.found ? (one.path ?? SKILL.found) : SKILL.lacks}</span></li>`)}</ul>` : SKILL.needsNone)}
    ${skill.command && fact(SKILL.command, html`<code class="wraps">${skill.command}</code>`)}
    ${skill.timeout_seconds !== null && fact(SKILL.timeout, duration(skill.timeout_seconds * 1000))}
    ${skill.kind === "runnable" && fact(SKILL.permissions, skill.permissions.join(", ") || SKILL.permissionsNone)}
    ${skill.permissions.includes("vault") && fact(SKILL.secrets, skill.vault?.join(", ") ?? SKILL.allSecrets)}
    ${skill.priority && fact(SKILL.priority, skill.priority)}
    ${skill.model && fact(SKILL.model, skill.model)}
    ${skill.tools.length > 0 && fact(SKILL.tools, skill.tools.join(", "))}
    ${skill.file_patterns.length > 0 && fact(SKILL.patterns, patternsOf(skill.file_patterns))}
    ${skill.exclude_patterns.length > 0 && fact(SKILL.excluded, patternsOf(skill.exclude_patterns))}
    ${skill.trigger_keywords.length > 0 && fact(SKILL.words, skill.trigger_keywords.join(", "))}
    ${fact(SKILL.path, html`<code class="wraps">${skill.path}</code>`)}</dl>`;
}

/** @param {{skill: Skill, runs: import("tocsin/types/records.js").List<Run>, more?: () => Promise<void>, chosen?: string}} props */
function Runs({ skill, runs: { items: runs }, more, chosen }) {
  if (!runs.length) return html`<${Empty} icon="skills" text=${SKILL.noRuns} command=${`tocsin skills run ${skill.name}`} />`;
  const listed = runs.find(({ id }) => id === chosen);
  // A run beyond the loaded list has its own page.
  if (chosen && !listed) return html`<p>${SKILL.older} <a href=${link("runs", chosen)}>${SKILL.olderOpen}</a></p><${RunTable} skill=${skill} runs=${runs} more=${more} />`;
  const shown = listed ?? runs[0];
  return html`<${SkillRun} key=${shown.id} run=${shown} assistant=${skill.kind === "assistant"} />
    <${RunTable} skill=${skill} runs=${runs} more=${more} />`;
}

/** @param {{skill: Skill, runs: Run[], more?: () => Promise<void>}} props */
function RunTable({ skill, runs, more }) {
  return html`<section class="stack" aria-labelledby="runs"><h2 id="runs">${SKILL.runs}</h2>
    <${Table} label=${SKILL.runs} rows=${runs} more=${more} columns=${COLUMNS} rowKey=${(/** @type {Run} */ run) => run.id} href=${(/** @type {Run} */ run) => `#/skills/${encodeURIComponent(skill.name)}?tab=runs&run=${run.id}`} /></section>`;
}

/** @type {import("tocsin/parts/table.js").Column<Run>[]} */
const COLUMNS = [
  { name: "status", title: SKILLS.state, value: (run) => run.status, cell: (run) => html`<${Status} state=${run.status} />` },
  { name: "started", title: SKILL.started, primary: true, value: (run) => run.queued_at, cell: (run) => html`<${Time} at=${run.started_at ?? run.queued_at} />` },
  { name: "by", title: SKILL.by, value: causeOf },
  { name: "reason", title: SKILLS.why, value: (run) => run.reason },
  { name: "took", title: SKILL.took, align: "end", value: (run) => run.duration_ms, cell: (run) => duration(run.duration_ms) },
];

/** @param {string[]} patterns */
function patternsOf(patterns) {
  return html`<span class="skill__patterns">${patterns.map((one) => html`<code key=${one}>${one}</code>`)}</span>`;
}
