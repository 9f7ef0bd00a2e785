// The message field: it keeps a draft, accepts files by drop and paste, and becomes a stop button during an answer.
import { html, useEffect, useRef, useState } from "tocsin/vendor/preact.js";
import { api, call, newKey, withQuery } from "tocsin/lib/api.js";
import { draftOf, dropDraft, keepDraft } from "tocsin/lib/drafts.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Icon } from "tocsin/parts/icon.js";
import { toast } from "tocsin/parts/toast.js";
import { CHAT } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Conversation} Conversation */
/** @typedef {import("tocsin/types/records.js").Message} Message */
/** @typedef {import("tocsin/types/records.js").ChatModel} Model */
/** @typedef {{id: string, name: string}} Attached */

/**
 * @param {{conversation: Conversation | null, models: Model[], busy: boolean, begun: (id: string) => Promise<void>,
 *   edited?: Message | null, ended?: () => void}} props  `edited` is an earlier message that is written anew.
 */
export function Composer({ conversation, models, busy, begun, edited = null, ended }) {
  const name = `chat.${conversation?.id ?? "new"}`;
  const [text, setText] = useState(/** @type {any} */ (draftOf(name))?.text ?? "");
  const [files, setFiles] = useState(/** @type {Attached[]} */ ([]));
  const [model, setModel] = useState(conversation?.model ?? models.find((one) => one.default)?.model ?? "");
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (edited) take(edited.content);
  }, [edited?.id]);
  /** @param {string} next */
  const take = (next) => {
    setText(next);
    keepDraft(name, { text: next });
  };
  const send = async () => {
    if (!text.trim() && !files.length) return;
    const usual = conversation?.model ?? models.find((one) => one.default)?.model;
    const answer = await api.post("/api/chat/send", {
      content: text, client_message_id: newKey(), attachments: files.map((file) => file.id),
      ...(conversation ? { conversation_id: conversation.id } : {}), ...(edited ? { replace_message_id: edited.id } : {}),
      ...(model && model !== usual ? { model } : {}),
    });
    dropDraft(name);
    setText("");
    setFiles([]);
    ended?.();
    await begun(answer.conversation_id);
  };
  const stop = () => api.post("/api/chat/send", { conversation_id: conversation?.id, stop: true });
  /** @param {Iterable<File>} given */
  const attach = async (given) => {
    for (const file of given) {
      const path = withQuery("/api/chat/attachments", { name: file.name });
      const { data } = await call("POST", path, file, { type: file.type || "text/plain" });
      setFiles((known) => [...known, data]);
    }
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || busy) return;
    event.preventDefault();
    void send().catch(toast.problem);
  };
  /** @param {DragEvent | ClipboardEvent} event @param {DataTransfer | null} data */
  const taken = (event, data) => {
    if (!data?.files.length) return;
    event.preventDefault();
    void attach([...data.files]).catch(toast.problem);
  };
  return html`<form class="chat__composer" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}
      onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => taken(event, event.dataTransfer)}>
    ${edited && html`<p class="muted">${CHAT.editing} <button type="button" class="link-button" onClick=${ended}>${CHAT.cancelEdit}</button></p>`}
    ${files.length > 0 && html`<ul class="chat__files">${files.map((file) => html`<li class="badge" dir="auto">${file.name}
      <button type="button" class="link-button" aria-label=${`${CHAT.remove}: ${file.name}`} onClick=${() => setFiles(files.filter((one) => one !== file))}>×</button></li>`)}</ul>`}
    <label class="visually-hidden" for="chat-text">${CHAT.placeholder}</label>
    <textarea id="chat-text" class="input" ref=${field} rows="3" dir="auto" placeholder=${CHAT.placeholder} value=${text} title=${CHAT.hint}
      onInput=${(/** @type {any} */ event) => take(event.currentTarget.value)} onKeyDown=${onKey} onPaste=${(/** @type {ClipboardEvent} */ event) => taken(event, event.clipboardData)}></textarea>
    <div class="row chat__foot">
      <input type="file" multiple hidden ref=${picker} onChange=${(/** @type {any} */ event) => void attach([...event.currentTarget.files]).catch(toast.problem)} />
      <button type="button" class="icon-button" aria-label=${CHAT.attach} title=${CHAT.attach} onClick=${() => picker.current?.click()}><${Icon} name="upload" /></button>
      ${models.length > 1 && html`<label class="choice"><span>${CHAT.model}</span><select class="input" onChange=${(/** @type {any} */ event) => setModel(event.currentTarget.value)}>
        ${models.map((one) => html`<option value=${one.model} selected=${one.model === model}>${one.model}</option>`)}</select></label>`}
      <span class="muted chat__hint">${models.length === 1 ? models[0].model : ""}</span>
      ${busy ? html`<${ActionButton} icon="stop" run=${stop}>${CHAT.stop}<//>` : html`<${ActionButton} kind="primary" icon="msg" run=${send} disabled=${!text.trim() && !files.length}>${CHAT.send}<//>`}
    </div>
  </form>`;
}
