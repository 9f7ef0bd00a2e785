// Reads the OpenAPI document of this port, shows its operations, and sends requests that a person has filled in.
(function () {
  "use strict";
  const main = /** @type {HTMLElement} */ (document.getElementById("site-content"));
  const groups = /** @type {HTMLElement} */ (document.getElementById("api-groups"));
  const filter = /** @type {HTMLInputElement} */ (document.getElementById("api-filter"));
  const token = /** @type {HTMLInputElement} */ (document.getElementById("api-token"));
  const METHODS = ["get", "post", "put", "patch", "delete"];
  const MOST_SHOWN = 200_000; // characters of a response
  const DEEPEST = 6; // of an example

  /** @typedef {Record<string, any>} Json */
  /** @typedef {{method: string, path: string, about: Json, group: string}} Operation */
  /** @type {Json} */
  let root = {};

  /**
   * @param {string} tag @param {Record<string, unknown>} [attributes] @param {(Node | string | null | undefined | false)[]} children
   * @returns {HTMLElement}
   */
  function h(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === false) continue;
      if (name.startsWith("on") && typeof value === "function") node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
    return node;
  }

  /** Follow a reference within the document. @param {Json | undefined} part @returns {Json} */
  function resolved(part) {
    let found = part ?? {};
    for (let steps = 0; found.$ref && steps < 10; steps++) {
      found = String(found.$ref).split("/").slice(1).reduce((at, name) => at?.[name.replace(/~1/g, "/").replace(/~0/g, "~")], root) ?? {};
    }
    return found;
  }

  /** Descriptions contain code between backquotes. @param {string} [text] */
  function prose(text = "") {
    return h("span", {}, ...text.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part)));
  }

  /** @param {Json | undefined} schema @returns {string} */
  function typeOf(schema) {
    const found = resolved(schema);
    if (found.enum) return found.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" | ");
    if ("const" in found) return JSON.stringify(found.const);
    const several = found.anyOf ?? found.oneOf;
    if (several) return several.map(typeOf).join(" | ");
    if (found.type === "array") return `${typeOf(found.items)}[]`;
    const names = [found.type].flat().filter(Boolean).join(" | ");
    return found.format ? `${names} (${found.format})` : names || "any";
  }

  /** Return a value that shows the shape. @param {Json | undefined} schema @param {number} [depth] @returns {unknown} */
  function exampleOf(schema, depth = 0) {
    const found = resolved(schema);
    if (found.examples?.length) return found.examples[0];
    for (const name of ["example", "const", "default"]) if (name in found) return found[name];
    if (found.enum) return found.enum[0];
    if (found.anyOf ?? found.oneOf) return exampleOf((found.anyOf ?? found.oneOf)[0], depth);
    if (found.allOf) return Object.assign({}, ...found.allOf.map((/** @type {Json} */ part) => exampleOf(part, depth)));
    const type = [found.type].flat()[0];
    if (type === "object" || found.properties) {
      const required = new Set(found.required ?? []);
      const shown = depth < DEEPEST ? Object.entries(found.properties ?? {}).filter(([name]) => required.has(name)) : [];
      return Object.fromEntries(shown.map(([name, part]) => [name, exampleOf(/** @type {Json} */ (part), depth + 1)]));
    }
    if (type === "array") return [];
    if (type === "integer" || type === "number") return found.minimum ?? 0;
    return type === "boolean" ? false : type === "null" ? null : "";
  }

  /** @param {Json | undefined} schema */
  function fields(schema) {
    const found = resolved(schema);
    const shapes = (found.anyOf ?? found.oneOf ?? []).map(resolved).filter((/** @type {Json} */ one) => one.properties);
    if (shapes.length) return h("div", {}, ...shapes.flatMap((/** @type {Json} */ one, /** @type {number} */ n) => [n > 0 && h("p", {}, "or"), fields(one)]));
    const names = Object.entries(found.properties ?? {});
    if (!names.length) return h("p", {}, h("code", {}, typeOf(schema)));
    const required = new Set(found.required ?? []);
    return h("table", { tabindex: 0 }, h("thead", {}, h("tr", {}, ...["Field", "Type", "Description"].map((word) => h("th", {}, word)))),
      h("tbody", {}, ...names.map(([name, part]) => h("tr", {}, h("td", {}, h("code", {}, name), required.has(name) && " required"),
        h("td", {}, h("code", {}, typeOf(/** @type {Json} */ (part)))), h("td", {}, prose(resolved(/** @type {Json} */ (part)).description))))));
  }

  /** @param {Operation} operation */
  function details(operation) {
    const { about } = operation;
    /** @type {Json[]} */
    const parameters = [...(root.paths[operation.path].parameters ?? []), ...(about.parameters ?? [])].map(resolved);
    const bodies = Object.entries(/** @type {Json} */ (resolved(about.requestBody).content ?? {}));
    const responses = Object.entries(/** @type {Json} */ (about.responses ?? {}));
    return h("div", { class: "operation__details" },
      about.description && about.description !== `${about.summary}.` && h("p", {}, prose(about.description)),
      about["x-scope"] && h("p", {}, "Scope of the token: ", h("code", {}, about["x-scope"])),
      ...bodies.slice(0, 1).flatMap(([type, body]) => [h("h3", {}, `Body, ${type}`), fields(body.schema)]),
      h("h3", {}, "Responses"),
      h("table", { tabindex: 0 }, h("tbody", {}, ...responses.map(([status, answer]) => {
        const [kind, content] = Object.entries(/** @type {Json} */ (resolved(answer).content ?? {}))[0] ?? [];
        return h("tr", {}, h("td", {}, h("code", {}, status)), h("td", {}, prose(resolved(answer).description), kind === "application/json" && h("details", {}, h("summary", {}, "Fields"), fields(content?.schema))));
      }))),
      tryForm(operation, parameters, bodies));
  }

  /** @param {Operation} operation @param {Json[]} parameters @param {[string, any][]} bodies */
  function tryForm(operation, parameters, bodies) {
    const inputs = parameters.map((parameter) => {
      const schema = resolved(parameter.schema);
      const choices = schema.enum ?? schema.anyOf?.map(resolved).find((/** @type {Json} */ one) => one.enum)?.enum;
      const input = choices
        ? h("select", {}, h("option", { value: "" }, "—"), ...choices.map((/** @type {unknown} */ value) => h("option", {}, String(value))))
        : h("input", { type: "text", required: parameter.required, placeholder: schema.default === undefined ? typeOf(schema) : String(schema.default), autocomplete: "off" });
      return { parameter, input: /** @type {HTMLInputElement} */ (input) };
    });
    const [type, body] = bodies[0] ?? [];
    const isJson = type === "application/json";
    const text = /** @type {HTMLTextAreaElement | null} */ (body ? h("textarea", { rows: isJson ? 8 : 4, spellcheck: false, "aria-label": "Body" }) : null);
    if (text && isJson) text.value = JSON.stringify(body.example ?? exampleOf(body.schema), null, 2);
    const out = h("div", { class: "operation__answer", role: "status" });
    const stop = /** @type {HTMLButtonElement} */ (h("button", { type: "button", hidden: true }, "Stop"));
    const rows = inputs.map(({ parameter, input }) => h("label", {}, h("span", {}, h("code", {}, parameter.name), parameter.required ? " required" : "", parameter.in === "header" ? " header" : ""), input, h("small", {}, prose(parameter.description))));
    const request = () => requestOf(operation, inputs, type, text);
    const send = async (/** @type {Event} */ event) => {
      event.preventDefault();
      await exchange(request(), out, stop);
    };
    const copy = async () => {
      await navigator.clipboard.writeText(curl(request()));
      out.replaceChildren(h("p", {}, "Copied. The command reads the token from TOKEN."));
    };
    return h("form", { onsubmit: send }, h("h3", {}, "Try it"), ...rows, text && h("label", {}, h("span", {}, `Body, ${type}`), text),
      h("div", { class: "operation__buttons" }, h("button", { type: "submit" }, `Send ${operation.method.toUpperCase()}`), h("button", { type: "button", onclick: copy }, "Copy as curl"), stop), out);
  }

  /** @typedef {{method: string, address: string, headers: Record<string, string>, body?: string}} Request */

  /**
   * @param {Operation} operation @param {{parameter: Json, input: HTMLInputElement}[]} inputs
   * @param {string | undefined} type @param {HTMLTextAreaElement | null} text @returns {Request}
   */
  function requestOf(operation, inputs, type, text) {
    let path = operation.path;
    const query = new URLSearchParams();
    /** @type {Record<string, string>} */
    const headers = {};
    for (const { parameter, input } of inputs) {
      const value = input.value.trim();
      if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (value && parameter.in === "query") query.append(parameter.name, value);
      else if (value && parameter.in === "header") headers[parameter.name] = value;
    }
    if (text && type) headers["Content-Type"] = type;
    const asked = String(query);
    return { method: operation.method.toUpperCase(), address: path + (asked && `?${asked}`), headers, body: text?.value };
  }

  /** Send a request and show the response as it arrives. @param {Request} request @param {HTMLElement} out @param {HTMLButtonElement} stop */
  async function exchange(request, out, stop) {
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    stop.hidden = false;
    const started = performance.now();
    const head = h("p", {}, "Waiting …");
    const shown = h("pre", { tabindex: 0, hidden: true });
    out.replaceChildren(head, shown);
    let received = "";
    try {
      const headers = token.value ? { ...request.headers, Authorization: `Bearer ${token.value}` } : request.headers;
      const answer = await fetch(request.address, { method: request.method, headers, body: request.body, signal: abort.signal, credentials: token.value ? "omit" : "same-origin" });
      head.replaceChildren(h("strong", {}, `${answer.status} ${answer.statusText}`), ` after ${Math.round(performance.now() - started)} ms`);
      const kept = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      out.append(h("details", {}, h("summary", {}, "Headers"), h("pre", {}, kept)));
      shown.hidden = false;
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        received += part.value;
        shown.textContent = received.slice(0, MOST_SHOWN);
      }
      if (/json/.test(answer.headers.get("content-type") ?? "")) shown.textContent = JSON.stringify(JSON.parse(received), null, 2).slice(0, MOST_SHOWN);
      if (!received) shown.hidden = true;
    } catch (error) {
      if (abort.signal.aborted) head.append(" – stopped");
      else head.replaceChildren(`The request failed: ${error instanceof Error ? error.message : error}`);
    } finally {
      stop.hidden = true;
    }
  }

  /** @param {Request} request */
  function curl({ method, address, headers, body }) {
    const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", `'\\''`)}'`;
    const words = ["curl", "-X", method, quoted(location.origin + address), "-H", '"Authorization: Bearer $TOKEN"'];
    for (const [name, value] of Object.entries(headers)) words.push("-H", quoted(`${name}: ${value}`));
    if (body !== undefined) words.push("--data-binary", quoted(body));
    return words.join(" ");
  }

  /** @param {Operation} operation */
  function entry(operation) {
    const { method, path, about } = operation;
    const node = h("details", { class: "operation", id: about.operationId },
      h("summary", {}, h("strong", { class: `method method--${method}` }, method.toUpperCase()), h("code", {}, path), prose(about.summary)));
    node.addEventListener("toggle", () => { // filled when it is opened: there are more than a hundred
      if (node.childElementCount === 1) node.append(details(operation));
    });
    return node;
  }

  /** @param {Operation[]} operations */
  function show(operations) {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = operations.filter(({ method, path, about }) => {
      const text = `${method} ${path} ${about.summary} ${about.operationId}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const names = [...new Set(found.map(({ group }) => group))];
    groups.replaceChildren(h("ul", {}, ...names.map((name) => h("li", {}, h("a", { href: `#group-${name}` }, name)))));
    main.replaceChildren(h("h1", {}, root.info.title), h("p", {}, prose(root.info.description)), h("p", {}, h("a", { href: document.body.dataset.document }, "The OpenAPI document")),
      ...(found.length ? [] : [h("p", {}, "No operation matches.")]),
      ...names.flatMap((name) => [h("h2", { id: `group-${name}` }, name), ...found.filter(({ group }) => group === name).map(entry)]));
  }

  async function start() {
    try {
      const answer = await fetch(document.body.dataset.document ?? "", { credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status === 401 ? "sign in first" : `status ${answer.status}`);
      root = await answer.json();
    } catch (error) {
      main.replaceChildren(h("p", {}, `The OpenAPI document could not be loaded: ${error instanceof Error ? error.message : error}.`));
      return;
    }
    const operations = Object.entries(/** @type {Json} */ (root.paths)).flatMap(([path, methods]) =>
      METHODS.filter((method) => methods[method]).map((method) => ({ method, path, about: methods[method], group: methods[method].tags?.[0] ?? "gateway" })));
    show(operations);
    filter.addEventListener("input", () => show(operations));
    const wanted = document.getElementById(location.hash.slice(1));
    if (wanted instanceof HTMLDetailsElement) wanted.open = true;
    wanted?.scrollIntoView();
  }
  void start();
})();
