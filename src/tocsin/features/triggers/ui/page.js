// Trigger rules, and a box that shows which rule a message would fire.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { afterPause, api } from "tocsin/lib/api.js";
import { definePage } from "tocsin/lib/page.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty, Failure } from "tocsin/parts/states.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { TRIGGERS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Rule} Rule */
/** @typedef {{items: Rule[], problem: string | null}} Rules */
/** @typedef {import("tocsin/types/records.js").RuleTest} Found */

export const page = definePage({
  title: TRIGGERS.title,
  /** @returns {Promise<Rules>} */
  load: ({ signal }) => api.get("/api/triggers", {}, { signal }),
  View: Triggers,
});

/** @param {import("tocsin/lib/page.js").PageProps<Rules>} props */
function Triggers({ data }) {
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const outcomes = new Map(found?.rules.map((rule) => [rule.number, rule.outcome]));
  const empty = html`<${Empty} icon="triggers" text=${TRIGGERS.empty} example=${TRIGGERS.example} command=${TRIGGERS.command} />`;
  return html`<${PageHead} title=${TRIGGERS.title} note=${TRIGGERS.note} />
    ${data.problem && html`<div class="failure" role="alert"><p class="failure__title"><${Shape} tone="bad" size=${16} />${TRIGGERS.broken}</p><p dir="auto">${data.problem}</p></div>`}
    ${data.items.length > 0 && html`<${TryBox} show=${setFound} found=${found} both=${data.items.some((rule) => rule.on === "action")} />`}
    <${Table} label=${TRIGGERS.title} rows=${data.items} columns=${columns(outcomes)} rowKey=${(/** @type {Rule} */ rule) => String(rule.number)} empty=${empty} />
    <${FileNote} file="triggers.yaml" doc="triggers.html" />`;
}

/** @param {{found: Found | null, show: (found: Found | null) => void, both: boolean}} props `both`: there are rules for buttons. */
function TryBox({ found, show, both }) {
  const [text, setText] = useState("");
  const [on, setOn] = useState("message");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    if (!text) return show(null);
    return afterPause((signal) => api.post("/api/triggers/test", { text, on }, { signal }).then((answer) => {
      setError(null);
      show(answer);
    }, (problem) => problem?.name !== "AbortError" && setError(problem)));
  }, [text, on]);
  return html`<section class="panel try"><label class="field__label" for="try">${TRIGGERS.tryIt} <span class="muted">${TRIGGERS.tryHint}</span></label>
    ${both && html`<select class="input" aria-label=${TRIGGERS.event} value=${on} onChange=${(/** @type {any} */ event) => setOn(event.currentTarget.value)}>
      ${Object.entries(TRIGGERS.events).map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select>`}
    <textarea id="try" class="input" rows="2" dir="auto" placeholder=${TRIGGERS.placeholder} value=${text}
      onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)}></textarea>
    <div role="status" class="try__answer">${found && html`<${Answer} found=${found} />`}</div>
    ${error && html`<${Failure} error=${error} compact />`}</section>`;
}

/** @param {{found: Found}} props */
function Answer({ found }) {
  if (!found.rule) return html`<p><${Status} state="none" label=${TRIGGERS.none} /></p>`;
  return html`<p><${Status} state="ok" label=${TRIGGERS.fires(found.rule.number)} /></p>
    <dl class="facts">
      <div><dt>${TRIGGERS.wouldRun}</dt><dd><code>${found.would_run}</code></dd></div>
      ${found.groups.map((group, index) => html`<div><dt>$${index + 1}</dt><dd dir="auto"><code>${group}</code></dd></div>`)}
    </dl>`;
}

/**
 * @param {Map<number, string>} outcomes
 * @returns {import("tocsin/parts/table.js").Column<Rule>[]}
 */
function columns(outcomes) {
  /** @type {import("tocsin/parts/table.js").Column<Rule>[]} */
  const usual = [
    { name: "number", title: TRIGGERS.rule, value: (rule) => rule.number, align: "end" },
    { name: "on", title: TRIGGERS.event, value: (rule) => TRIGGERS.events[rule.on] ?? rule.on },
    { name: "pattern", title: TRIGGERS.pattern, primary: true, value: (rule) => rule.pattern, cell: (rule) => html`<code>${rule.pattern}</code>` },
    { name: "action", title: TRIGGERS.action, value: (rule) => TRIGGERS.actions[rule.action] ?? rule.action },
    { name: "command", title: TRIGGERS.text, value: (rule) => rule.command, cell: (rule) => html`<code class="wraps">${rule.command}</code>` },
    { name: "reply", title: TRIGGERS.reply, value: (rule) => (rule.reply ? TRIGGERS.yes : TRIGGERS.no) },
    { name: "notes", title: TRIGGERS.notes, value: (rule) => rule.notes.join(" "), cell: (rule) => html`<span class="muted">${rule.notes.join(" ") || "–"}</span>` },
  ];
  if (!outcomes.size) return usual;
  /** @param {Rule} rule */
  const told = (rule) => TRIGGERS.outcomes[outcomes.get(rule.number) ?? ""] ?? ["none", ""];
  return [{ name: "outcome", title: TRIGGERS.outcome, value: (rule) => told(rule)[1], cell: (rule) => html`<${Status} state=${told(rule)[0]} label=${told(rule)[1]} />` }, ...usual];
}
