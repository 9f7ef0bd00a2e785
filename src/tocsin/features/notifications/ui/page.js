// Notifications: all reports, read or unread.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage, withRecord, withoutRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { About, ActionButton } from "tocsin/parts/action.js";
import { confirm } from "tocsin/parts/dialog.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Said, textOf } from "tocsin/parts/said.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { NOTICES } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Notice} Notice */
/** @typedef {import("tocsin/types/records.js").List<Notice>} Notices */

const PATH = "/api/notifications";

export const page = definePage({
  title: NOTICES.title,
  reloadOn: ["unread", "level", "category"],
  /** @returns {Promise<Notices>} */
  load: ({ query, signal }) => api.get(PATH, asked(query), { signal }),
  View: Notifications,
  events: "notification.*",
});

/** @param {Record<string, string>} query */
function asked({ unread, level, category }) {
  return { unread: unread || undefined, level: level || undefined, category: category || undefined };
}

/** @param {import("tocsin/lib/page.js").PageProps<Notices>} props */
function Notifications({ data, query, change, reload }) {
  const unread = data.items.filter((item) => !item.read).length;
  const readAll = async () => {
    const category = query.category ? { category: query.category } : {};
    const { updated } = await api.post(`${PATH}/read-all`, category);
    await reload();
    toast.ok(NOTICES.readDone(updated));
  };
  /** @param {Notice} notice */
  const turn = async (notice) => {
    const after = await api.post(notice.read ? url`/api/notifications/${notice.id}/unread` : url`/api/notifications/${notice.id}/read`);
    change((now) => withRecord(now, after, "id"));
  };
  /** @param {Notice} notice */
  const remove = async (notice) => {
    const work = () => api.remove(url`/api/notifications/${notice.id}`);
    const agreed = await confirm({ title: NOTICES.removeTitle(notice.title), text: NOTICES.removeText, action: NOTICES.remove, danger: true, work });
    if (agreed) change((now) => withoutRecord(now, notice.id, "id"));
  };
  /** @param {Notice} notice @param {boolean} approved */
  const decide = async ({ approval }, approved) => {
    const part = await import("tocsin/parts/decide.js");
    if (approval) await part.decide(approval.run_id, approval.step, approved);
  };
  useKeys([{ keys: "m a", label: NOTICES.readAll, run: () => void readAll().catch(toast.problem) }]);
  const actions = html`<a class="button" href=${`${PATH}/feed`} title=${NOTICES.feedTitle} download="tocsin-feed.json"><${Icon} name="download" size=${16} />${NOTICES.feed}</a>
    <${ActionButton} run=${allowAlerts}>${NOTICES.alerts}<//>
    ${(unread > 0 || data.next_cursor) && html`<${ActionButton} kind="primary" run=${readAll}>${NOTICES.readAll}<//>`}`;
  const filtered = query.unread || query.level || query.category;
  const empty = filtered ? undefined : html`<${Empty} icon="notifications" text=${NOTICES.empty} command=${NOTICES.command} />`;
  return html`<${PageHead} title=${NOTICES.title} note=${NOTICES.unread(unread)} actions=${actions} />
    <${Toolbar}>
      <${FilterBox} value=${query.q} />
      <${Choice} name="unread" label=${NOTICES.onlyUnread} value=${query.unread} options=${[["", NOTICES.all], ["true", NOTICES.onlyUnreadWord]]} />
      <${Choice} name="level" label=${NOTICES.level} value=${query.level} options=${choices(NOTICES.levels)} />
      <${Choice} name="category" label=${NOTICES.category} value=${query.category} options=${choices(NOTICES.categories)} />
    <//>
    <${Table} label=${NOTICES.title} rows=${data.items} columns=${columns(turn, remove, decide)} rowKey=${(/** @type {Notice} */ notice) => notice.id}
      filter=${query.q} total=${data.total} empty=${empty} keys=${{ m: turn, Delete: remove }}
      rowClass=${(/** @type {Notice} */ notice) => (notice.read ? undefined : "notice--unread")} more=${nextPage(data, change, PATH, asked(query))} />`;
}

/**
 * @param {(notice: Notice) => Promise<void>} turn
 * @param {(notice: Notice) => Promise<void>} remove
 * @param {(notice: Notice, approved: boolean) => Promise<void>} decide
 * @returns {import("tocsin/parts/table.js").Column<Notice>[]}
 */
function columns(turn, remove, decide) {
  return [
    { name: "level", title: NOTICES.level, value: (notice) => notice.level, cell: (notice) => html`<${Status} state=${notice.level} />` },
    {
      name: "what",
      title: NOTICES.what,
      primary: true,
      value: (notice) => `${notice.title} ${notice.body}`,
      cell: (notice) => html`<span class="notice"><strong dir="auto">${notice.title}</strong>
        ${notice.count > 1 && html`<span class="badge">${NOTICES.times(notice.count)}</span>`}
        ${notice.body && html`<span class="notice__body"><${Said} text=${textOf(notice)} /></span>`}</span>`,
    },
    { name: "category", title: NOTICES.category, value: (notice) => NOTICES.categories[notice.category] ?? notice.category },
    { name: "when", title: NOTICES.when, value: (notice) => notice.last_at, cell: whenOf },
    {
      name: "do",
      title: "",
      sort: false,
      bare: true,
      cell: (notice) => html`<span class="row">
        ${notice.approval && html`<${ActionButton} small kind="primary" about=${notice.title} run=${() => decide(notice, true)}>${NOTICES.approve}<//>
          <${ActionButton} small about=${notice.title} run=${() => decide(notice, false)}>${NOTICES.reject}<//>`}
        ${notice.link && html`<a class="button button--small" href=${safe(notice.link)}>${NOTICES.open}<${About} name=${notice.title} /></a>`}
        ${!notice.approval && html`<${ActionButton} small about=${notice.title} run=${() => turn(notice)}>${notice.read ? NOTICES.unreadAgain : NOTICES.read}<//>`}
        <${ActionButton} icon="trash" label=${`${NOTICES.remove}: ${notice.title}`} run=${() => remove(notice)} /></span>`,
    },
  ];
}

/** @param {Notice} notice */
function whenOf(notice) {
  return html`<${Time} at=${notice.last_at} />${notice.count > 1 && html`<span class="muted">, ${NOTICES.first} <${Time} at=${notice.created_at} /></span>`}`;
}

/** Allow only links to pages of the dashboard or to the web, so that untrusted links run no code. @param {string} link */
function safe(link) {
  return /^(#\/|https?:\/\/)/.test(link) ? link : "#/notifications";
}

/** @param {Record<string, string>} words @returns {[string, string][]} */
function choices(words) {
  return [["", NOTICES.all], ...Object.entries(words)];
}

/** Ask the browser for permission, only at the person's request. */
async function allowAlerts() {
  if (!("Notification" in window)) return toast.info(NOTICES.alertsMissing);
  const answer = await Notification.requestPermission();
  return answer === "granted" ? toast.ok(NOTICES.alertsOn) : toast.info(NOTICES.alertsRefused);
}
