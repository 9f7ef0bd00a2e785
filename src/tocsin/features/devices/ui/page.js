// Devices: the browsers and phones that take notifications, and this one as one of them.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { allPages, withoutRecord } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { ActionButton } from "tocsin/parts/action.js";
import { confirm, openDialog, Dialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Said } from "tocsin/parts/said.js";
import { Empty } from "tocsin/parts/states.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { idOf, obstacle, ownSubscription, subscribe, suggestedName } from "./subscribing.js";
import { DEVICES } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Device} Device */
/** @typedef {import("tocsin/types/records.js").List<Device> & {setup: import("tocsin/types/records.js").PushSetup, own: string}} Devices */

const PATH = "/api/devices";

export const page = definePage({
  title: DEVICES.title,
  /** @returns {Promise<Devices>} */
  load: async ({ signal }) => {
    const [items, setup, own] = await Promise.all([
      allPages(PATH, {}, { signal }),
      api.get("/api/push-setup", {}, { signal }),
      ownSubscription().then(idOf),
    ]);
    return { items, next_cursor: null, total: items.length, setup, own };
  },
  View: DeviceList,
});

/** @param {import("tocsin/lib/page.js").PageProps<Devices>} props */
function DeviceList({ data, change, reload }) {
  /** @param {Device} device */
  const test = async ({ name }) => {
    const answer = await api.post("/api/msg/send", { channel: "webpush", target: name, message: DEVICES.testText });
    if (!answer.ok) {
      await reload(); // a device that is gone was removed
      throw new Error(answer.error);
    }
    toast.ok(DEVICES.sent(name));
  };
  /** @param {Device} device */
  const remove = async ({ name, id }) => {
    const work = async () => {
      await api.remove(url`/api/devices/${name}`);
      if (id === data.own) await (await ownSubscription())?.unsubscribe();
    };
    const agreed = await confirm({ title: DEVICES.removeTitle(name), text: DEVICES.removeText, action: DEVICES.remove, danger: true, work });
    if (agreed) change((now) => withoutRecord(now, name, "name"));
  };
  /** @param {Device} device */
  const rename = ({ name }) =>
    openDialog((close) => {
      const submit = async (/** @type {Record<string, any>} */ values) => {
        await api.patch(url`/api/devices/${name}`, values);
        close();
        await reload();
      };
      const fields = [{ name: "name", label: DEVICES.name, hint: DEVICES.renameHint, required: true }];
      return html`<${Dialog} title=${DEVICES.renameTitle(name)} close=${close}>
        <${Form} fields=${fields} values=${{ name }} submit=${submit} submitLabel=${DEVICES.rename} cancel=${close} /><//>`;
    });
  const empty = html`<${Empty} icon="devices" text=${data.setup.public_key && !obstacle() ? DEVICES.empty : DEVICES.none} command=${DEVICES.command} />`;
  return html`<${PageHead} title=${DEVICES.title} note=${DEVICES.note} />
    <${ThisDevice} data=${data} reload=${reload} />
    <${Table} label=${DEVICES.title} rows=${data.items} columns=${columns(data.own, { test, rename, remove })} rowKey=${(/** @type {Device} */ { name }) => name} empty=${empty} />`;
}

/** @param {{data: Devices, reload: () => Promise<void>}} props */
function ThisDevice({ data: { items, setup, own }, reload }) {
  const known = items.find(({ id }) => id === own);
  if (known) return html`<p class="panel devices__here">${DEVICES.isHere(known.name)}</p>`;
  const problem = obstacle();
  if (!setup.public_key || problem) {
    return html`<section class="panel devices__here" aria-labelledby="here"><h2 id="here">${DEVICES.here}</h2>
      <p>${problem || DEVICES.notConfigured}</p>${!problem && html`<p class="muted"><${Said} text=${setup.problem ?? ""} /></p>`}</section>`;
  }
  const submit = async (/** @type {Record<string, any>} */ { name }) => {
    const device = await subscribe(name, setup.public_key ?? "");
    await reload();
    toast.ok(DEVICES.nowNotified(device.name));
  };
  const fields = [{ name: "name", label: DEVICES.nameLabel, hint: DEVICES.nameHint, required: true }];
  return html`<section class="panel devices__here" aria-labelledby="here"><h2 id="here">${DEVICES.here}</h2>
    <${Form} label=${DEVICES.notify} fields=${fields} values=${{ name: suggestedName() }} submit=${submit} submitLabel=${DEVICES.notify} /></section>`;
}

/**
 * @param {string} own
 * @param {Record<"test" | "remove", (device: Device) => Promise<void>> & {rename: (device: Device) => void}} actions
 * @returns {import("tocsin/parts/table.js").Column<Device>[]}
 */
function columns(own, { test, rename, remove }) {
  return [
    {
      name: "name",
      title: DEVICES.name,
      primary: true,
      value: ({ name }) => name,
      cell: ({ name, id }) => html`<span dir="auto">${name}</span>${id === own && html` <span class="badge">${DEVICES.thisOne}</span>`}`,
    },
    { name: "service", title: DEVICES.service, value: ({ service }) => service },
    { name: "user", title: DEVICES.user, value: ({ user }) => user ?? "–" },
    { name: "added", title: DEVICES.added, value: (device) => device.created_at, cell: (device) => html`<${Time} at=${device.created_at} />`, card: "short" },
    {
      name: "do",
      title: "",
      sort: false,
      bare: true,
      cell: (device) => html`<span class="row"><${ActionButton} small about=${device.name} run=${() => test(device)}>${DEVICES.test}<//>
        <${ActionButton} small about=${device.name} run=${async () => rename(device)}>${DEVICES.rename}<//>
        <${ActionButton} small about=${device.name} run=${() => remove(device)}>${DEVICES.remove}<//></span>`,
    },
  ];
}
