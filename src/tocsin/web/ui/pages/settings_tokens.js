// API tokens: listing, creating (shown once) and revoking them.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { profileNames } from "../lib/channels.js";
import { ActionButton } from "../parts/action.js";
import { CopyButton } from "../parts/copy.js";
import { Dialog, confirm } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { Empty, Failure, Loading } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { Toolbar } from "../parts/toolbar.js";
import { SETTINGS } from "../strings/settings.js";

/** @typedef {import("../types/records.js").Token} Token */

export function Tokens() {
  const [items, setItems] = useState(/** @type {Token[] | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [profiles, setProfiles] = useState(/** @type {string[]} */ ([]));
  const [open, setOpen] = useState(/** @type {"" | "new" | {secret: string}} */ (""));
  const load = () => api.get("/api/tokens", { limit: 200 }).then((found) => setItems(found.items), setError);
  useEffect(() => {
    void load();
    // Without them, a token cannot be limited here.
    void profileNames().then(setProfiles);
  }, []);
  if (error) return html`<${Failure} error=${error} retry=${load} />`;
  if (!items) return html`<${Loading} />`;
  /** @param {Record<string, any>} record */
  const create = async ({ name, scope, profiles: only }) => {
    const made = await api.post("/api/tokens", { name, scopes: [scope], profiles: only });
    setOpen({ secret: made.token });
    await load();
  };
  /** @param {Token} token */
  const revoke = async (token) => {
    const work = () => api.remove(url`/api/tokens/${token.name}`);
    if (await confirm({ title: SETTINGS.revokeTitle(token.name), text: SETTINGS.revokeText, action: SETTINGS.revoke, danger: true, work })) await load();
  };
  const add = html`<button type="button" class="button button--primary" onClick=${() => setOpen("new")}>${SETTINGS.newToken}</button>`;
  const empty = html`<${Empty} icon="vault" text=${SETTINGS.tokensEmpty} action=${add} command=${SETTINGS.tokensCommand} />`;
  return html`<p class="muted">${SETTINGS.tokensNote}</p>
    ${items.length > 0 && html`<${Toolbar}>${add}<//>`}
    <${Table} label=${SETTINGS.tabs.tokens} rows=${items} columns=${columns(revoke)} rowKey=${(/** @type {Token} */ token) => token.name} empty=${empty} />
    ${open === "new" && html`<${Dialog} title=${SETTINGS.newToken} close=${() => setOpen("")}>
      <${Form} fields=${fieldsOf(profiles)} values=${{ name: "", scope: "read", profiles: [] }} submit=${create} submitLabel=${SETTINGS.create} cancel=${() => setOpen("")} /><//>`}
    ${typeof open === "object" && html`<${Dialog} title=${SETTINGS.secretTitle} close=${() => setOpen("")}
      foot=${html`<button type="button" class="button button--primary" onClick=${() => setOpen("")}>${SETTINGS.done}</button>`}>
      <p>${SETTINGS.secretText}</p><p class="row"><code class="wraps">${open.secret}</code><${CopyButton} text=${open.secret} /></p><//>`}`;
}

/** @param {string[]} profiles @returns {import("../parts/field.js").FieldSpec[]} */
const fieldsOf = (profiles) => [
  { name: "name", label: SETTINGS.name, required: true, focus: true, placeholder: "deploy" },
  { name: "scope", label: SETTINGS.scopes, type: "select", required: true, options: Object.entries(SETTINGS.scopeNames) },
  {
    name: "profiles",
    label: SETTINGS.onlyProfiles,
    type: "custom",
    hint: SETTINGS.profilesHint,
    when: ({ scope }) => scope === "send" && profiles.length > 0,
    draw: ({ id, value, set, aria, spec }) => html`<div class="row" role="group" id=${id} tabindex="-1" aria-label=${spec.label} aria-describedby=${aria["aria-describedby"]}>
      ${profiles.map((name) => html`<label class="check"><input type="checkbox" checked=${value.includes(name)}
        onChange=${(/** @type {any} */ event) => set(event.currentTarget.checked ? [...value, name] : value.filter((/** @type {string} */ one) => one !== name))} /> <span dir="auto">${name}</span></label>`)}</div>`,
  },
];

/**
 * @param {(token: Token) => Promise<void>} revoke
 * @returns {import("../parts/table.js").Column<Token>[]}
 */
function columns(revoke) {
  return [
    { name: "name", title: SETTINGS.name, primary: true, value: (token) => token.name },
    { name: "scopes", title: SETTINGS.scopes, value: (token) => token.scopes.map((scope) => SETTINGS.scopeNames[scope] ?? scope).join(", ") },
    { name: "profiles", title: SETTINGS.profiles, value: (token) => token.profiles.join(", ") || SETTINGS.anyProfile },
    { name: "created", title: SETTINGS.created, value: (token) => token.created_at, cell: (token) => html`<${Time} at=${token.created_at} />` },
    { name: "used", title: SETTINGS.used, value: (token) => token.last_used_at, cell: (token) => html`<${Time} at=${token.last_used_at} />` },
    { name: "do", title: "", sort: false, bare: true, cell: (token) => html`<${ActionButton} small about=${token.name} run=${() => revoke(token)}>${SETTINGS.revoke}<//>` },
  ];
}
