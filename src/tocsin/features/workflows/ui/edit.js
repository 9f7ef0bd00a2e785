// The text of a workflow: validated while it is typed, saved only if it was not changed elsewhere.
import { html, useEffect, useMemo, useState } from "tocsin/vendor/preact.js";
import { afterPause, api, ApiProblem, call, url } from "tocsin/lib/api.js";
import { draftOf, dropDraft, keepDraft } from "tocsin/lib/drafts.js";
import { useKeys } from "tocsin/lib/keys.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CodeEditor } from "tocsin/parts/code.js";
import { Failure } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { toast } from "tocsin/parts/toast.js";
import { Graph } from "./graph.js";
import { WORKFLOW } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Workflow} Workflow */
/** @typedef {import("tocsin/types/records.js").YamlProblem} Mistake */
/** @typedef {import("tocsin/types/records.js").Validation} Validation */

/** @param {{workflow: Workflow, version: string, saved: (next: Workflow, version: string) => void, reload: () => Promise<void>}} props */
export function Editor({ workflow, version, saved, reload }) {
  const draft = `workflow.${workflow.name}`;
  const kept = useMemo(() => /** @type {{text: string, version: string} | undefined} */ (draftOf(draft)), []);
  const stored = workflow.yaml ?? "";
  const [text, setText] = useState(kept?.text ?? stored);
  // The text is based on the file as it was loaded, even if that changes meanwhile.
  const [base, setBase] = useState(kept?.version ?? version);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const changed = text !== stored;
  const names = useNames();
  /** @param {string} typed @param {number} at */
  const complete = (typed, at) => (completionsAt ? completionsAt(typed, at, names) : completions().then((find) => find(typed, at, names)));
  const found = useValidation(workflow, text, changed);
  useEffect(() => void (changed ? keepDraft(draft, { text, version: base }) : dropDraft(draft)), [text, stored]);
  useEffect(() => void (!changed && setBase(version)), [version, changed]);
  const save = async () => {
    setError(null);
    try {
      const answer = await call("PUT", url`/api/workflows/${workflow.name}`, { yaml: text }, { ifMatch: base });
      dropDraft(draft);
      setBase(answer.etag);
      saved(answer.data, answer.etag);
      toast.ok(WORKFLOW.saved);
    } catch (problem) {
      setError(problem);
    }
  };
  const start = async () => {
    dropDraft(draft);
    setError(null);
    await reload();
    const fresh = await api.get(url`/api/workflows/${workflow.name}`);
    setText(fresh.yaml);
    setBase(api.etagOf(url`/api/workflows/${workflow.name}`));
  };
  useKeys([{ keys: "mod+s", label: WORKFLOW.save, run: () => void (changed && save()) }]);
  const stale = error instanceof ApiProblem && error.status === 412;
  return html`<div class="stack">
    <div class="row" role="status"><${Status} state=${found.valid ? "valid" : "invalid"} label=${found.valid ? WORKFLOW.valid : WORKFLOW.invalid(found.errors.length)} />
      ${changed && html`<span class="muted">${kept ? WORKFLOW.kept : WORKFLOW.notSaved}</span>`}</div>
    ${stale ? html`<p class="notice notice--bad" role="alert"><span>${WORKFLOW.newer}</span><${ActionButton} small run=${start}>${WORKFLOW.load}<//></p>` : error && html`<${Failure} error=${error} compact />`}
    <${CodeEditor} value=${text} onInput=${setText} label=${WORKFLOW.editor} markers=${markersOf(found)} complete=${complete} />
    <p class="muted workflow__hint">${WORKFLOW.editorHint}</p>
    <div class="row"><${ActionButton} kind="primary" run=${save} disabled=${!changed}>${WORKFLOW.save}<//>
      ${changed && html`<${ActionButton} run=${start}>${WORKFLOW.revert}<//>`}</div>
    ${changed && (found.graph?.nodes.length ?? 0) > 0 && html`<${Graph} drawing=${found.graph} label=${WORKFLOW.graph} />`}
  </div>`;
}

/** @type {typeof import("./complete.js").completionsAt | undefined} */
let completionsAt;
/** Completions are loaded at the first key: most people only read. */
const completions = async () => (completionsAt = (await import("./complete.js")).completionsAt);

/** The names that a workflow may use; a list that cannot be loaded is omitted. @returns {import("./complete.js").Names} */
function useNames() {
  const [names, setNames] = useState(/** @type {import("./complete.js").Names} */ ({ profiles: [], skills: [], hosts: [], groups: [], workflows: [] }));
  useEffect(() => {
    const stop = new AbortController();
    const read = (/** @type {string} */ path) => api.get(path, {}, { signal: stop.signal }).then(({ items }) => items.map((/** @type {{name: string}} */ one) => one.name), () => []);
    void Promise.all(["msg/profiles", "skills", "ssh/hosts", "ssh/groups", "workflows"].map((area) => read(`/api/${area}`)))
      .then(([profiles, skills, hosts, groups, workflows]) => stop.signal.aborted || setNames({ profiles, skills, hosts, groups, workflows }));
    return () => stop.abort();
  }, []);
  return names;
}

/** The result of the server's validation, shortly after each change. @param {Workflow} workflow @param {string} text @param {boolean} changed @returns {Validation} */
function useValidation(workflow, text, changed) {
  const known = { valid: workflow.valid, errors: workflow.errors ?? [], warnings: workflow.warnings ?? [], graph: workflow.graph ?? { nodes: [], edges: [] } };
  const [found, setFound] = useState(/** @type {Validation} */ (known));
  useEffect(() => {
    if (!changed) return setFound(known);
    return afterPause((signal) => api.post(url`/api/workflows/${workflow.name}/validate`, { yaml: text }, { signal })
      .then(setFound, (error) => signal.aborted || toast.problem(error)));
  }, [text, changed, workflow]);
  return found;
}

/** @param {Validation} found @returns {import("tocsin/parts/code.js").Marker[]} */
function markersOf({ errors, warnings }) {
  /** @param {Mistake} one */
  const words = ({ detail, suggestion }) => [detail, suggestion && !detail.includes(suggestion) && WORKFLOW.suggestion(suggestion)].filter(Boolean).join(" ");
  return [
    ...errors.map((one) => ({ line: one.line ?? 1, tone: /** @type {const} */ ("bad"), text: words(one) })),
    ...warnings.map((one) => ({ line: one.line ?? 1, tone: /** @type {const} */ ("warn"), text: words(one) })),
  ];
}
