// One page of the documentation of this version.
import { html, useLayoutEffect } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { definePage } from "../lib/page.js";
import { link } from "../lib/router.js";
import { DOCS } from "../strings/docs.js";

/** @typedef {{name: string, text: string, Markdown: unknown}} Doc */

const FIRST = "guide";
/** Names of documents that are served. */
const NAME = /^(channels\/|reference\/)?[a-z][a-z_-]*$/;

export const page = definePage({
  title: ({ data }) => titleOf(data) ?? DOCS.title,
  /** @returns {Promise<Doc>} */
  load: async ({ params, signal }) => {
    const name = params.name ?? FIRST;
    const [{ Markdown }, { data: text }] = await Promise.all([import("../parts/markdown.js"), call("GET", `/docs/${name}.md`, undefined, { accept: "text/markdown", signal })]);
    return { name, text, Markdown };
  },
  View: Documentation,
});

/** @param {import("../lib/page.js").PageProps<Doc>} props */
function Documentation({ data, query }) {
  useLayoutEffect(() => {
    if (query.part) document.getElementById(query.part)?.scrollIntoView();
  }, [query.part]);
  const [, ...lines] = data.text.split("\n");
  return html`<h1>${titleOf(data)}</h1>
    <div class="docs"><${data.Markdown} text=${lines.join("\n")} within=${(/** @type {string} */ href) => pageOf(href, data.name)} /></div>`;
}

/** @param {string} href @param {string} here @returns {string | undefined}  The page that a link of a document means. */
function pageOf(href, here) {
  const { pathname, hash } = new URL(href, `docs:/${here}.md`);
  const name = pathname.slice(1).replace(/\.md$/, "");
  return href.includes(":") || !NAME.test(name) ? undefined : `${link("docs", name)}${hash && `?part=${hash.slice(1)}`}`;
}

/** @param {Doc | undefined} doc */
function titleOf(doc) {
  return doc?.text.match(/^# (.*)/)?.[1];
}
