// The panel of the bell: the newest unread notifications.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { go } from "tocsin/lib/router.js";
import { follow, refreshStatus } from "tocsin/lib/stream.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Failure, Loading } from "tocsin/parts/states.js";
import { Said, textOf } from "tocsin/parts/said.js";
import { Shape, toneOf } from "tocsin/parts/status.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { BELL } from "./bell_strings.js";

/** @param {{close: () => void}} props */
export function Unread({ close }) {
  const [items, setItems] = useState(/** @type {any[] | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const read = () => api.get("/api/notifications/unread").then((found) => setItems(found.items), setError);
    void read();
    return follow("notification.*", () => true, read);
  }, []);
  const readAll = async () => {
    await act(() => api.post("/api/notifications/read-all"));
    setItems([]);
  };
  /** @param {any} item */
  const open = async (item) => {
    setItems((all) => (all ?? []).filter((other) => other.id !== item.id));
    if (item.link) {
      close();
      go(item.link);
    }
    await act(() => api.post(url`/api/notifications/${item.id}/read`));
  };
  return html`<div class="bell">
    <div class="bell__head"><h2>${BELL.title}</h2>
      ${items?.length ? html`<button type="button" class="button button--small" onClick=${readAll}>${BELL.readAll}</button>` : null}
    </div>
    ${error ? html`<${Failure} error=${error} compact />` : !items ? html`<${Loading} />` : null}
    ${items && !items.length && html`<p class="muted">${BELL.none}</p>`}
    ${items?.length ? html`<ul class="bell__list">${items.map((item) => html`<li key=${item.id}><button type="button" class="bell__item" onClick=${() => open(item)}>
      <${Shape} tone=${toneOf(item.level)} /><span><span class="bell__title" dir="auto">${item.title}${item.count > 1 ? ` (${item.count}×)` : ""}</span>
      ${item.body && html`<span class="bell__body"><${Said} text=${textOf(item)} /></span>`}<${Time} at=${item.last_at} /></span></button>
      ${item.approval && html`<div class="bell__decide"><${ActionButton} small kind="primary" about=${item.title} run=${() => decide(item, true)}>${BELL.approve}<//>
        <${ActionButton} small about=${item.title} run=${() => decide(item, false)}>${BELL.reject}<//></div>`}</li>`)}</ul>` : null}
    <a class="bell__all" href="#/notifications" onClick=${close}>${BELL.all}</a>
  </div>`;
}

/** @param {any} item @param {boolean} approved */
async function decide({ approval }, approved) {
  const part = await import("tocsin/parts/decide.js");
  await part.decide(approval.run_id, approval.step, approved);
}

/** @param {() => Promise<unknown>} change */
async function act(change) {
  try {
    await change();
    await refreshStatus();
  } catch (error) {
    toast.problem(error);
  }
}
