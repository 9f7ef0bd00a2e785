// The form of a new door, and then its address.
import { html, useMemo, useState } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { definePage } from "tocsin/lib/page.js";
import { link } from "tocsin/lib/router.js";
import { Form } from "tocsin/parts/form.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { SetUp } from "./set_up.js";
import { ADD_DOOR, DOORS, SET_UP } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").DoorKinds} Kinds */
/** @typedef {import("tocsin/types/records.js").DoorSetUp} Found */
/** @typedef {{kinds: Kinds, profiles: string[]}} Data */

const WEBHOOK = "webhook"; // the one protocol that says nothing about the product
const NEW = { name: "", protocol: WEBHOOK, preset: "", profile: "", severity: "info", rate: 600, sources: [], secret: "" };

export const page = definePage({
  title: ADD_DOOR.title,
  /** @returns {Promise<Data>} */
  load: async ({ signal }) => {
    const [kinds, profiles] = await Promise.all([api.get("/api/doors/kinds", {}, { signal }), readProfiles(signal)]);
    return { kinds, profiles };
  },
  View: Add,
});

/** Suggestions only: the form works without them. @param {AbortSignal} signal @returns {Promise<string[]>} */
async function readProfiles(signal) {
  const found = await api.get("/api/msg/profiles", {}, { signal }).catch(() => ({ items: [] }));
  return found.items.map((/** @type {{name: string}} */ { name }) => name);
}

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Add({ data: { kinds, profiles } }) {
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const fields = useMemo(() => fieldsOf(kinds, profiles), [kinds, profiles]);
  const back = { href: "#/doors", label: DOORS.back };
  /** @param {Record<string, any>} record */
  const submit = async (record) => setFound(await api.post("/api/doors", Object.fromEntries(Object.entries(record).filter(([, value]) => value !== ""))));
  if (found) {
    const watch = html`<a class="button button--primary" href=${link("doors", found.name)}>${SET_UP.watch(found.name)}</a>`;
    return html`<${PageHead} title=${found.name} back=${back} actions=${watch} /><${SetUp} found=${found} />`;
  }
  return html`<${PageHead} title=${ADD_DOOR.title} back=${back} />
    <${Form} label=${ADD_DOOR.title} fields=${fields} values=${{ ...NEW, profile: profiles[0] ?? "" }} submit=${submit} submitLabel=${ADD_DOOR.create} cancel=${back.href} />`;
}

/** @param {Kinds} kinds @param {string[]} profiles @returns {import("tocsin/parts/field.js").FieldSpec[]} */
function fieldsOf({ protocols, presets }, profiles) {
  return [
    { name: "name", label: DOORS.name, hint: ADD_DOOR.nameHint, required: true, focus: true, placeholder: "alerts" },
    { name: "profile", label: DOORS.profile, hint: ADD_DOOR.profileHint, suggestions: profiles, placeholder: "oncall" },
    { name: "protocol", label: DOORS.protocol, type: "select", hint: ADD_DOOR.protocolHint, options: protocols.map(({ name, label }) => [name, label]) },
    {
      name: "preset",
      label: DOORS.preset,
      type: "select",
      hint: ADD_DOOR.presetHint,
      options: [["", ADD_DOOR.noPreset], ...presets.map((name) => /** @type {[string, string]} */ ([name, name]))],
      when: ({ protocol }) => protocol === WEBHOOK,
    },
    { name: "severity", label: DOORS.severity, type: "select", hint: ADD_DOOR.severityHint, options: Object.entries(DOORS.severities) },
    { name: "rate", label: DOORS.rate, type: "number", hint: ADD_DOOR.rateHint, min: 1, max: 1_000_000, step: 1 },
    { name: "sources", label: DOORS.sources, type: "list", hint: ADD_DOOR.sourcesHint, placeholder: "10.0.0.0/8" },
    { name: "secret", label: DOORS.secret, type: "password", hint: ADD_DOOR.secretHint },
  ];
}
