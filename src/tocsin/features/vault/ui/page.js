// The vault: names, ages and states, and the rotation command. The page never contains values.
import { html } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { number } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { CopyCommand } from "tocsin/parts/copy.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { VAULT } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").SecretAge} SecretAge */
/** @typedef {import("tocsin/types/records.js").VaultStatus} VaultStatus */

export const page = definePage({
  title: VAULT.title,
  /** @returns {Promise<VaultStatus>} */
  load: ({ signal }) => api.get("/api/vault/status", {}, { signal }),
  View: Vault,
  events: "status.changed",
});

/** @param {import("tocsin/lib/page.js").PageProps<VaultStatus>} props */
function Vault({ data, query }) {
  const head = html`<${PageHead} title=${VAULT.title} note=${VAULT.note} />`;
  if (!data.initialized) return html`${head}<${Empty} icon="vault" text=${VAULT.missing} command=${VAULT.initCommand} />`;
  const items = data.rotation.items;
  const empty = html`<${Empty} icon="vault" text=${data.locked ? VAULT.locked : VAULT.empty} command=${data.locked ? "tocsin doctor" : VAULT.setCommand} />`;
  return html`${head}
    <dl class="facts panel facts--panel">
      <div><dt>${VAULT.keys}</dt><dd>${number(data.key_count ?? 0)}</dd></div>
      <div><dt>${VAULT.backend}</dt><dd>${data.backend ?? "–"}</dd></div>
      <div><dt>${VAULT.files}</dt><dd><${Status} state=${data.permissions_ok === false ? "error" : "ok"} quiet
        label=${data.permissions_ok === false ? VAULT.filesOpen : VAULT.filesOk} /></dd></div>
      <div><dt>${VAULT.changed}</dt><dd><${Time} at=${data.updated_at} /></dd></div>
    </dl>
    <p class="muted">${VAULT.how}</p>
    ${items.length > 5 && html`<${Toolbar}><${FilterBox} value=${query.q} /><//>`}
    <${Table} label=${VAULT.title} rows=${items} columns=${COLUMNS} rowKey=${(/** @type {SecretAge} */ item) => item.name} filter=${query.q} empty=${empty} />`;
}

/** @type {import("tocsin/parts/table.js").Column<SecretAge>[]} */
const COLUMNS = [
  { name: "name", title: VAULT.name, primary: true, value: (item) => item.name, cell: (item) => html`<code>${item.name}</code>` },
  { name: "state", title: VAULT.state, value: (item) => item.status, cell: (item) => html`<${Status} state=${item.status} />` },
  { name: "age", title: VAULT.age, value: (item) => item.age_days / item.max_age_days, cell: (item) => html`<${Age} item=${item} />` },
  { name: "expires", title: VAULT.expires, value: (item) => item.expires_at, cell: (item) => html`<${Time} at=${item.expires_at} />` },
  { name: "command", title: VAULT.command, sort: false, cell: (item) => html`<${Command} name=${item.name} />` },
];

/** @param {{item: SecretAge}} props */
function Age({ item }) {
  const age = Math.floor(item.age_days);
  return html`<span class="age"><progress class=${`age__bar age__bar--${item.status}`} max=${item.max_age_days} value=${Math.min(age, item.max_age_days)}
    aria-label=${`${item.name}: ${VAULT.days(age, item.max_age_days)}`}></progress><span class="muted">${VAULT.days(age, item.max_age_days)}</span></span>`;
}

/** @param {{name: string}} props */
function Command({ name }) {
  return html`<${CopyCommand} command=${`tocsin vault rotate ${name}`} />`;
}
