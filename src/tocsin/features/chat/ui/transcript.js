// One conversation: its messages, and the answer as it is streamed.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "tocsin/vendor/preact.js";
import { api, url, withQuery } from "tocsin/lib/api.js";
import { readEvents } from "tocsin/lib/sse.js";
import { signal, useSignal } from "tocsin/lib/store.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CopyButton } from "tocsin/parts/copy.js";
import { Markdown } from "tocsin/parts/markdown.js";
import { Status } from "tocsin/parts/status.js";
import { Time } from "tocsin/parts/time.js";
import { Composer } from "./composer.js";
import { CHAT } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Conversation} Conversation */
/** @typedef {import("tocsin/types/records.js").Message & {attachments?: {id: string, name: string}[]}} Message */
/** @typedef {import("tocsin/lib/sse.js").ServerEvent} ServerEvent */

const AGAIN_MS = 2000;
/** A hidden tab closes its connection: a browser allows six per server, and other tabs need them. */
const HIDDEN_MS = 5000;
const NEAR_PX = 80;

/** @param {{conversation: Conversation & {has_earlier?: boolean}, models: {model: string, default: boolean}[]}} props */
export function Transcript({ conversation, models }) {
  const messages = useMemo(() => signal(/** @type {Message[]} */ (conversation.messages ?? [])), []);
  const shown = useSignal(messages);
  const [lost, setLost] = useState(false);
  const [edited, setEdited] = useState(/** @type {Message | null} */ (null));
  const ours = conversation.source === "dashboard";
  useFollowed(conversation, messages, setLost);
  const box = useScrolled(shown);
  const busy = shown.some((message) => message.status === "pending" || message.status === "streaming");
  const earlier = async () => {
    const first = shown[0]?.id;
    const more = await api.get(url`/api/chat/conversations/${conversation.id}`, { before: first });
    messages.update((now) => [...more.messages, ...now]);
  };
  return html`<div class="chat__messages" ref=${box} tabindex="0" role="log" aria-live="polite" aria-busy=${busy}>
      ${conversation.has_earlier && html`<${ActionButton} small run=${earlier}>${CHAT.earlier}<//>`}
      ${shown.map((message) => html`<${Bubble} key=${message.id} message=${message} edit=${ours && !busy && message.role === "user" ? () => setEdited(message) : undefined} />`)}
    </div>
    ${lost && html`<p class="muted" role="status">${CHAT.lost}</p>`}
    ${ours ? html`<${Composer} conversation=${conversation} models=${models} busy=${busy} begun=${async () => undefined} edited=${edited} ended=${() => setEdited(null)} />`
      : html`<p class="muted chat__readonly">${CHAT.readOnly}</p>`}`;
}

/**
 * Follow changes; numbered events never add a piece twice, and a gap reads everything again.
 * @param {Conversation} conversation
 * @param {import("tocsin/lib/store.js").Signal<Message[]>} messages
 * @param {(lost: boolean) => void} setLost
 */
function useFollowed(conversation, messages, setLost) {
  useEffect(() => {
    const stop = new AbortController();
    let lastId = conversation.last_event_id ?? "";
    const again = async () => {
      const now = await api.get(url`/api/chat/conversations/${conversation.id}`);
      lastId = now.last_event_id;
      messages.set(now.messages);
    };
    /** @param {ServerEvent} event */
    const onEvent = (event) => {
      if (event.id) lastId = event.id;
      if (event.type === "resync") void again().catch(() => undefined);
      else messages.update((now) => changed(now, event));
    };
    const run = async () => {
      for (;;) {
        await seen(stop.signal);
        if (stop.signal.aborted) return;
        const { signal: unseen, end } = whenHidden(stop.signal);
        await readEvents(withQuery("/api/chat/stream", { conversation_id: conversation.id }), { lastId, signal: unseen, onEvent, onOpen: () => setLost(false) }).catch(() => setLost(!unseen.aborted));
        end();
        if (!unseen.aborted) await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    };
    void run();
    return () => stop.abort();
  }, [conversation.id]);
}

/** Wait until the tab is visible, or the page is left. @param {AbortSignal} left @returns {Promise<void>} */
function seen(left) {
  return new Promise((done) => {
    if (!document.hidden || left.aborted) return done();
    const ended = new AbortController();
    const look = () => {
      if (document.hidden && !left.aborted) return;
      ended.abort();
      done();
    };
    document.addEventListener("visibilitychange", look, { signal: ended.signal });
    left.addEventListener("abort", look, { signal: ended.signal });
  });
}

/** Return a signal that aborts when the page is left, or the tab has been hidden for some seconds. @param {AbortSignal} left */
function whenHidden(left) {
  const stop = new AbortController();
  const ended = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stop.abort(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look, { signal: ended.signal });
  left.addEventListener("abort", () => stop.abort(), { signal: ended.signal });
  look();
  return {
    signal: stop.signal,
    end() {
      clearTimeout(timer);
      ended.abort();
    },
  };
}

/** @param {Message[]} now @param {ServerEvent} event @returns {Message[]} */
function changed(now, { type, data }) {
  if (type === "message.created" || type === "message.completed") {
    const known = now.some((message) => message.id === data.message.id);
    return known ? now.map((message) => (message.id === data.message.id ? data.message : message)) : [...now, data.message];
  }
  return now.map((message) => {
    if (message.id !== data?.message_id) return message;
    if (type === "message.failed") return { ...message, status: "failed", error: data.error };
    if (type !== "message.delta" || data.seq <= message.seq) return message;
    return { ...message, status: "streaming", content: message.content + data.text, seq: data.seq };
  });
}

/** Scroll with new content, unless the reader has scrolled up. @param {Message[]} shown */
function useScrolled(shown) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  useEffect(() => {
    const element = box.current;
    const look = () => (atEnd.current = !element || element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX);
    element?.addEventListener("scroll", look);
    return () => element?.removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);
  return box;
}

/** @param {{message: Message, edit?: () => void}} props */
function Bubble({ message, edit }) {
  const who = message.role === "user" ? CHAT.you : CHAT.assistant;
  const writing = message.status === "pending" || message.status === "streaming";
  return html`<article class=${`turn turn--${message.role}`} aria-label=${who}>
    <header class="turn__head"><strong>${who}</strong><span class="muted"><${Time} at=${message.created_at} none="" /></span>
      ${writing && html`<${Status} state="generating" label=${CHAT.thinking} quiet />`}
      ${message.status === "stopped" && html`<${Status} state="stopped" label=${CHAT.stopped} quiet />`}
      <span class="turn__tools">${message.content && html`<${CopyButton} text=${message.content} />`}
        ${edit && html`<button type="button" class="link-button" onClick=${edit}>${CHAT.edit}</button>`}</span></header>
    ${message.attachments?.length ? html`<ul class="chat__files">${message.attachments.map((file) => html`<li class="badge" dir="auto">${file.name}</li>`)}</ul>` : null}
    ${message.role === "user" ? html`<p class="turn__text" dir="auto">${message.content}</p>` : html`<${Markdown} text=${message.content} />`}
    ${message.error && html`<p class="delivery__error" dir="auto">${message.error.message}</p>`}
  </article>`;
}
