// Access to the bot: pending requests, allowed and denied chats.
import { html, useState } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { featureEvents } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { ActionButton } from "../parts/action.js";
import { Dialog, confirm } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { PageHead } from "../parts/page_head.js";
import { Empty } from "../parts/states.js";
import { Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { FilterBox, Toolbar } from "../parts/toolbar.js";
import { ACCESS } from "../strings/access.js";

/** @typedef {import("../types/records.js").Chat} Chat */
/** @typedef {{items: Chat[]}} Chats */
/** @typedef {"approve" | "deny" | "remove"} Change */

const ORDER = ["pending", "allowed", "denied", "unknown"];

export const page = definePage({
  title: ACCESS.title,
  /** @returns {Promise<Chats>} */
  load: ({ signal }) => api.get("/api/access", {}, { signal }),
  View: Access,
  // An access request also creates a notice, if a feature stores notices.
  events: featureEvents("created"),
});

/** @param {import("../lib/page.js").PageProps<Chats>} props */
function Access({ data, query, reload }) {
  const [adding, setAdding] = useState(false);
  /** @param {string} chat @param {Change} what */
  const decide = async (chat, what) => {
    const asked = { deny: { title: ACCESS.denyTitle(chat), text: ACCESS.denyText }, remove: { title: ACCESS.removeTitle(chat), text: ACCESS.removeText } };
    if (what !== "approve" && !(await confirm({ ...asked[what], action: ACCESS[what], danger: true }))) return;
    const after = await api.post(`${url`/api/access/${chat}`}/${what}`);
    await reload();
    toast.ok(ACCESS.done(chat, after.state));
  };
  const rows = [...data.items].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const add = html`<button type="button" class="button button--primary" onClick=${() => setAdding(true)}>${ACCESS.add}</button>`;
  const empty = html`<${Empty} icon="access" text=${ACCESS.empty} action=${add} command=${ACCESS.command} />`;
  return html`<${PageHead} title=${ACCESS.title} note=${ACCESS.note} actions=${data.items.length > 0 && add} />
    ${data.items.length > 5 && html`<${Toolbar}><${FilterBox} value=${query.q} /><//>`}
    <${Table} label=${ACCESS.title} rows=${rows} columns=${columns(decide)} rowKey=${(/** @type {Chat} */ chat) => chat.chat_id} filter=${query.q} empty=${empty} />
    ${adding && html`<${AddDialog} close=${() => setAdding(false)} decide=${decide} />`}`;
}

/** @param {{close: () => void, decide: (chat: string, what: Change) => Promise<void>}} props */
function AddDialog({ close, decide }) {
  /** @param {Record<string, any>} record */
  const submit = async ({ chat_id: chat }) => {
    await decide(chat.trim(), "approve");
    close();
  };
  const fields = [{ name: "chat_id", label: ACCESS.addLabel, hint: ACCESS.addHint, required: true, focus: true }];
  return html`<${Dialog} title=${ACCESS.add} close=${close}><${Form} fields=${fields} values=${{ chat_id: "" }} submit=${submit} submitLabel=${ACCESS.allow} cancel=${close} /><//>`;
}

/**
 * @param {(chat: string, what: Change) => Promise<void>} decide
 * @returns {import("../parts/table.js").Column<Chat>[]}
 */
function columns(decide) {
  /** @param {Chat} chat */
  const who = (chat) => Object.values(chat.details).join(", ");
  /** @param {Chat} chat @param {Change} what */
  const button = (chat, what) => html`<${ActionButton} small about=${chat.chat_id} run=${() => decide(chat.chat_id, what)}>${ACCESS[what]}<//>`;
  return [
    { name: "chat", title: ACCESS.chat, primary: true, value: (chat) => chat.chat_id, cell: (chat) => html`<code>${chat.chat_id}</code>` },
    { name: "state", title: ACCESS.state, value: (chat) => chat.state, cell: (chat) => html`<${Status} state=${chat.state} />` },
    { name: "who", title: ACCESS.who, value: who, cell: (chat) => html`<span dir="auto">${who(chat) || "–"}</span>` },
    { name: "origin", title: ACCESS.origin, value: (chat) => (chat.state === "pending" ? ACCESS.asked : (ACCESS.origins[chat.origin] ?? chat.origin)) },
    { name: "since", title: ACCESS.since, value: (chat) => chat.changed_at, cell: (chat) => html`<${Time} at=${chat.changed_at} none="–" />` },
    {
      name: "do",
      title: "",
      sort: false,
      bare: true,
      cell: (chat) => html`<span class="row">
        ${chat.state !== "allowed" && button(chat, "approve")}
        ${chat.state !== "denied" && button(chat, "deny")}
        ${chat.state !== "unknown" && chat.state !== "pending" && button(chat, "remove")}</span>`,
    },
  ];
}
