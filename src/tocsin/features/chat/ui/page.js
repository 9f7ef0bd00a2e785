// Chat: the list of conversations beside the selected one.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { channelName, readChannels } from "tocsin/lib/channels.js";
import { useKeys } from "tocsin/lib/keys.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { confirm } from "tocsin/parts/dialog.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Shape } from "tocsin/parts/status.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Composer } from "./composer.js";
import { Transcript } from "./transcript.js";
import { CHAT } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Conversation} Conversation */
/** @typedef {import("tocsin/types/records.js").ChatModel} Model */
/** @typedef {{list: Conversation[], notice: string | null, chosen: Conversation | null, models: Model[]}} Chat */

export const page = definePage({
  title: ({ data }) => data?.chosen?.title || CHAT.title,
  wide: true,
  /** @returns {Promise<Chat>} */
  load: async ({ params, signal }) => {
    const [list, models, chosen] = await Promise.all([
      api.get("/api/chat/conversations", {}, { signal }),
      api.get("/api/chat/models", {}, { signal }),
      params.id ? api.get(url`/api/chat/conversations/${params.id}`, {}, { signal }) : null,
      readChannels(signal),
    ]);
    return { list: list.items, notice: list.notice, chosen, models: models.items };
  },
  View: ChatPage,
  events: "conversation.updated",
  onEvent: (data, event) => {
    const known = data.list.some((one) => one.id === event.data?.id);
    return known ? { ...data, list: data.list.map((one) => (one.id === event.data.id ? { ...one, ...event.data } : one)) } : undefined;
  },
});

/** @param {import("tocsin/lib/page.js").PageProps<Chat>} props */
function ChatPage({ data, reload }) {
  const { list, chosen, models } = data;
  useKeys([{ keys: "n", label: CHAT.new, run: () => go("#/chat") }]);
  const remove = async () => {
    if (!chosen) return;
    const work = () => api.remove(url`/api/chat/conversations/${chosen.id}`);
    if (await confirm({ title: CHAT.removeTitle(chosen.title || CHAT.untitled), text: CHAT.removeText, action: CHAT.remove, danger: true, work })) go("#/chat");
  };
  /** @param {string} id */
  const begun = async (id) => {
    if (chosen?.id === id) return;
    go(link("chat", id));
    await reload().catch(toast.problem);
  };
  const ours = !chosen || chosen.source === "dashboard";
  const actions = html`${chosen && ours && html`<${ActionButton} icon="trash" run=${remove}>${CHAT.remove}<//>`}
    ${chosen && html`<a class="button button--primary" href="#/chat"><${Icon} name="plus" />${CHAT.new}</a>`}`;
  const back = chosen ? { href: "#/chat", label: CHAT.conversations } : undefined; // on small screens, which show the list on its own
  return html`<${PageHead} title=${chosen?.title || CHAT.title} back=${back} actions=${actions} />
    <div class=${`chat${chosen ? " chat--chosen" : ""}`}>
      <nav class="chat__list" aria-label=${CHAT.conversations}>
        ${data.notice && html`<p class="muted">${data.notice}</p>`}
        ${list.length ? html`<ul>${list.map((one) => html`<li key=${one.id}><a href=${link("chat", one.id)} aria-current=${one.id === chosen?.id ? "page" : undefined}>
          <span class="chat__name" dir="auto">${one.status === "generating" && one.id !== chosen?.id && html`<${Shape} tone="busy" />`}${one.title || CHAT.untitled}</span>
          <span class="muted">${one.source !== "dashboard" && `${channelName(one.source)} · `}<${Time} at=${one.updated_at} none="" /></span></a></li>`)}</ul>` : html`<p class="muted">${CHAT.none}</p>`}
      </nav>
      <section class="chat__main" aria-label=${chosen?.title || CHAT.new}>
        ${chosen ? html`<${Transcript} key=${chosen.id} conversation=${chosen} models=${models} />`
          : !models.length ? html`<div class="chat__fresh"><${Empty} icon="chat" text=${CHAT.noModel} action=${html`<a class="button" href="#/settings?tab=values&q=chat_">${CHAT.toSettings}</a>`} command="tocsin doctor" /></div>`
          : html`<div class="chat__fresh"><${Empty} icon="chat" text=${CHAT.empty} command=${CHAT.command} /></div>
            <${Composer} key="new" conversation=${null} models=${models} busy=${false} begun=${begun} />`}
      </section>
    </div>`;
}
