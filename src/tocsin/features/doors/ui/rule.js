// A rule made from a request: edited beside what it would give.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { afterPause, api, url } from "tocsin/lib/api.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CodeEditor, CodeView } from "tocsin/parts/code.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Failure, Loading } from "tocsin/parts/states.js";
import { toast } from "tocsin/parts/toast.js";
import { facts, pretty } from "./message.js";
import { DOORS, RULE } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").DoorPreview} Preview */
/** @typedef {import("tocsin/types/records.js").DoorRequest} DoorRequest */
/** @typedef {{name: string, id: string, rule: string, request: DoorRequest | undefined}} Data */

export const page = definePage({
  title: ({ params }) => RULE.title(params.id),
  reloadOn: ["request"],
  /** @returns {Promise<Data>} */
  load: async ({ params, query, signal }) => {
    const path = url`/api/doors/${params.id}`;
    const asked = query.request ? { request: Number(query.request) } : {};
    const [door, requests, made] = await Promise.all([
      api.get(path, {}, { signal }),
      api.get(`${path}/requests`, {}, { signal }),
      api.post(`${path}/rule`, asked, { signal }),
    ]);
    return { name: door.name, id: door.id, rule: made.rule, request: requests.find((/** @type {DoorRequest} */ one) => (query.request ? one.id === Number(query.request) : one.payload)) };
  },
  View: Rule,
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Rule({ data }) {
  const [text, setText] = useState(data.rule);
  const { found, error } = usePreview(data, text);
  const back = { href: link("doors", data.name), label: data.name };
  const write = async () => {
    await api.post(url`/api/doors/${data.id}/rule`, { rule: text, write: true });
    toast.ok(RULE.added);
    go(back.href);
  };
  const actions = html`<${ActionButton} kind="primary" run=${write} disabled=${Boolean(error)}>${RULE.add}<//>`;
  return html`<${PageHead} title=${RULE.title(data.name)} note=${RULE.note} back=${back} actions=${actions} />
    <div class="columns">
      <section class="stack"><${CodeEditor} value=${text} onInput=${setText} label=${RULE.editor} rows=${Math.min(30, Math.max(10, data.rule.split("\n").length + 1))} />
        ${error && html`<${Failure} error=${error} compact />`}</section>
      <section class="stack door__preview" aria-labelledby="preview"><h2 id="preview">${RULE.preview}</h2>
        <div class="stack" aria-live="polite">${found ? found.map((one) => html`<${Shown} one=${one} />`) : !error && html`<${Loading} lines=${3} />`}</div>
        ${data.request && html`<h3>${DOORS.payload}</h3><${CodeView} text=${pretty(data.request.payload)} label=${DOORS.payload} />`}</section>
    </div>`;
}

/** @param {{one: Preview}} props */
function Shown({ one }) {
  const told = one.drop ? facts({ ...one, title: null, text: null, severity: null, key: null, link: null, profile: null }) : facts(one);
  return html`<div class="door__request">${one.drop && html`<p>${RULE.dropped}</p>`}
    <dl class="door__facts">${[...told, [RULE.made, one.rule ?? RULE.generic]].map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl></div>`;
}

/**
 * Return what the request would become by the rule, shortly after the last key; what is shown stays until then.
 * @param {Data} data
 * @param {string} text
 */
function usePreview({ id, request }, text) {
  const [state, setState] = useState(/** @type {{found: Preview[] | null, error: unknown}} */ ({ found: null, error: null }));
  useEffect(() => afterPause((signal) => api.post(url`/api/doors/${id}/preview`, { rule: text, ...(request && { request: request.id }) }, { signal }).then(
    (found) => signal.aborted || setState({ found, error: null }),
    (error) => signal.aborted || setState({ found: null, error }),
  )), [text, id]);
  return state;
}
