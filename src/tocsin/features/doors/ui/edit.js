// The form of a door: a new one, or the fields of one that is there, and then its address.
import { html, useMemo, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { profileNames } from "tocsin/lib/channels.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { Form } from "tocsin/parts/form.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { toast } from "tocsin/parts/toast.js";
import { SetUp } from "./set_up.js";
import { DOORS, EDIT_DOOR, SET_UP } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").DoorKinds} Kinds */
/** @typedef {import("tocsin/types/records.js").DoorSetUp} Found */
/** @typedef {import("tocsin/types/records.js").Door} Door */
/** @typedef {{door: Door | null, kinds: Kinds, profiles: string[], version: string}} Data */

const WEBHOOK = "webhook"; // the one protocol that says nothing about the product
const NEW = { name: "", protocol: WEBHOOK, preset: "", profile: "", severity: "info", rate: 600, sources: [], secret: "", secret_name: "", open: false };
const FIELDS = ["profile", "protocol", "preset", "severity", "rate", "sources", "secret_name"];

export const page = definePage({
  title: ({ params }) => (params.id ? EDIT_DOOR.editTitle(params.id) : EDIT_DOOR.title),
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const path = params.id ? url`/api/doors/${params.id}` : "";
    const [door, kinds, profiles] = await Promise.all([path ? api.get(path, {}, { signal }) : null, api.get("/api/doors/kinds", {}, { signal }), profileNames(signal)]);
    return { door, kinds, profiles, version: path ? api.etagOf(path) : "" };
  },
  View: Edit,
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Edit({ data: { door, kinds, profiles, version } }) {
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const fields = useMemo(() => fieldsOf(door, kinds, profiles), [door, kinds, profiles]);
  const values = useMemo(() => (door ? valuesOf(door) : { ...NEW, profile: profiles[0] ?? "" }), [door]);
  const back = door ? { href: link("doors", door.name), label: door.name } : { href: "#/doors", label: DOORS.back };
  const title = door ? EDIT_DOOR.editTitle(door.name) : EDIT_DOOR.title;
  /** @param {Record<string, any>} record @param {Record<string, any>} changed */
  const submit = async (record, changed) => {
    if (door) {
      await api.patch(url`/api/doors/${door.id}`, patchOf(changed), { ifMatch: version });
      toast.ok(EDIT_DOOR.stored(door.name));
      go(back.href);
      return;
    }
    setFound(await api.post("/api/doors", Object.fromEntries(Object.entries(record).filter(([, value]) => value !== ""))));
  };
  if (found) {
    const watch = html`<a class="button button--primary" href=${link("doors", found.name)}>${SET_UP.watch(found.name)}</a>`;
    return html`<${PageHead} title=${found.name} back=${back} actions=${watch} /><${SetUp} found=${found} />`;
  }
  return html`<${PageHead} title=${title} back=${back} />
    <${Form} label=${title} fields=${fields} values=${values} submit=${submit} submitLabel=${door ? EDIT_DOOR.save : EDIT_DOOR.create} cancel=${back.href} />`;
}

/** @param {Door} door */
function valuesOf(door) {
  const known = /** @type {Record<string, any>} */ (door);
  return { ...NEW, ...Object.fromEntries(FIELDS.map((name) => [name, known[name] ?? ""])) };
}

/** The changes as a merge patch: null selects the default, and removes the secret. @param {Record<string, any>} changed */
function patchOf({ open, ...changed }) {
  const patch = Object.fromEntries(Object.entries(changed).map(([name, value]) => [name, value === "" ? null : value]));
  return open ? { ...patch, secret: null } : patch;
}

/** @param {Door | null} door @param {Kinds} kinds @param {string[]} profiles @returns {import("tocsin/parts/field.js").FieldSpec[]} */
function fieldsOf(door, { protocols, presets }, profiles) {
  const isNew = () => !door;
  return [
    { name: "name", when: isNew, label: DOORS.name, hint: EDIT_DOOR.nameHint, required: true, focus: true, placeholder: "alerts" },
    { name: "profile", label: DOORS.profile, hint: EDIT_DOOR.profileHint, suggestions: profiles, placeholder: "oncall" },
    { name: "protocol", when: isNew, label: DOORS.protocol, type: "select", hint: EDIT_DOOR.protocolHint, options: protocols.map(({ name, label }) => [name, label]) },
    {
      name: "preset",
      label: DOORS.preset,
      type: "select",
      hint: EDIT_DOOR.presetHint,
      options: [["", EDIT_DOOR.noPreset], ...presets.map((name) => /** @type {[string, string]} */ ([name, name]))],
      when: ({ protocol }) => (door?.protocol ?? protocol) === WEBHOOK,
    },
    { name: "severity", label: DOORS.severity, type: "select", hint: EDIT_DOOR.severityHint, options: Object.entries(DOORS.severities) },
    { name: "rate", label: DOORS.rate, type: "number", hint: EDIT_DOOR.rateHint, min: 1, max: 1_000_000, step: 1 },
    { name: "sources", label: DOORS.sources, type: "list", hint: EDIT_DOOR.sourcesHint, placeholder: "10.0.0.0/8" },
    { name: "secret", label: DOORS.secret, type: "password", hint: door?.has_secret ? EDIT_DOOR.keptHint : EDIT_DOOR.secretHint, when: ({ open }) => !open },
    { name: "secret_name", label: EDIT_DOOR.vault, hint: EDIT_DOOR.vaultHint, placeholder: "WEBHOOK_SECRET", when: ({ open }) => !open },
    { name: "open", label: EDIT_DOOR.open, type: "check", when: () => Boolean(door?.has_secret) },
  ];
}
