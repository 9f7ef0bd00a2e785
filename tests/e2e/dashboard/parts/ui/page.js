// A page with every part, for tests alone.
import { html, useEffect, useMemo, useState } from "tocsin/vendor/preact.js";
import { ApiProblem } from "tocsin/lib/api.js";
import { createLog } from "tocsin/lib/log.js";
import { definePage } from "tocsin/lib/page.js";
import { link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CodeEditor, CodeView, DiffView } from "tocsin/parts/code.js";
import { confirm, Dialog } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { LogView } from "tocsin/parts/log_view.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty, Failure } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Tabs } from "tocsin/parts/tabs.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";

const START = Date.parse("2026-11-20T08:00:00Z");
const STATES = ["scheduled", "running", "paused", "auto_disabled", "invalid"];
const ENDS = ["succeeded", "succeeded", "succeeded", "failed", "missed", "running", "skipped"];
const PROBLEM = new ApiProblem({
  status: 409, code: "conflict", title: "It is running", detail: "Cancel it first.", requestId: "0199-abc",
});

/** @param {number} count */
function rowsOf(count) {
  return Array.from({ length: count }, (_, index) => ({
    id: `job-${index}`,
    name: ["nightly-backup", "disk-check", "مرحبا", "<b>bold</b>", "certs"][index % 5] + `-${index}`,
    state: STATES[index % 5],
    at: START + index * 60_000,
    recent: Array.from({ length: 30 - (index % 3) }, (_, run) => ({
      id: `run-${run}`, status: ENDS[(run * 5 + index) % 7], started_at: new Date(START - run * 3_600_000).toJSON(), duration_ms: 1200,
    })),
  }));
}

export const page = definePage({ title: "Parts", load: async ({ query }) => rowsOf(Number(query.rows ?? 40)), View: Parts });

function Parts({ data, query }) {
  const tabs = [
    { name: "table", label: "Table", count: data.length, view: () => html`<${Jobs} rows=${data} state=${query.state} />` },
    { name: "form", label: "Form", view: () => html`<${Fields} />` },
    { name: "log", label: "Log", view: () => html`<${Output} lines=${Number(query.lines ?? 3000)} />` },
    { name: "code", label: "Code", view: () => html`<${Code} />` },
    { name: "gone", label: "Gone", view: () => html`<${Gone} />` },
    { name: "states", label: "States", view: () => html`<${States} />` },
  ];
  return html`<${PageHead} title="Parts" note="Every part once." back=${{ href: "#/home", label: "Home" }} /><${Tabs} tabs=${tabs} label="Parts" />`;
}

function Gone() {
  const [rows, setRows] = useState(["one", "two", "three"].map((name) => ({ name })));
  const [asking, setAsking] = useState(false);
  const remove = async (row) => setRows(rows.filter((other) => other !== row));
  return html`<${Table} label="Rows" rows=${rows} rowKey=${(row) => row.name} empty=${html`<${Empty} text="None." />`} columns=${[
    { name: "name", title: "Name", primary: true, value: (row) => row.name },
    { name: "do", title: "", cell: (row) => html`<${ActionButton} small about=${row.name} run=${() => remove(row)}>Remove<//>` },
  ]} /><button type="button" class="button" onClick=${() => setAsking(true)}>Rename</button>
  ${asking && html`<${Dialog} title="Rename" close=${() => setAsking(false)}>
    <label class="field">New name <input class="input" /></label><//>`}`;
}

function Jobs({ rows, state }) {
  const [text, setText] = useState("");
  const ask = (row) => confirm({
    title: `Delete ${row.name}?`, text: "Its runs are deleted too.", action: "Delete", danger: true, typeName: row.name,
    work: async () => {
      throw PROBLEM;
    },
  });
  const columns = [
    { name: "state", title: "State", value: (row) => row.state, cell: (row) => html`<${Status} state=${row.state} />` },
    { name: "name", title: "Name", value: (row) => row.name, primary: true },
    { name: "at", title: "Next", value: (row) => row.at, cell: (row) => html`<${Time} at=${row.at} />`, align: "end" },
    { name: "recent", title: "Runs", cell: (row) => html`<${HistoryBar} runs=${row.recent} label=${row.name} href=${(run) => link("runs", run.id)} />` },
    {
      name: "actions", title: "", bare: true,
      cell: (row) => html`<span class="row"><${ActionButton} icon="play" label=${`Run ${row.name}`} run=${async () => toast.undo(`Started ${row.name}`, async () => undefined)} />
        <${ActionButton} icon="trash" label=${`Delete ${row.name}`} run=${() => ask(row)} /></span>`,
    },
  ];
  return html`<${Toolbar}><${FilterBox} name="" onText=${setText} /><${Choice} name="state" label="State" value=${state} options=${[["", "All"], ["running", "Running"]]} /><//>
    <${Table} label="Jobs" rows=${rows} columns=${columns} rowKey=${(row) => row.id} href=${(row) => link("cron", row.id)} filter=${text}
      keys=${{ r: (row) => toast.ok(`Run ${row.name}`) }} total=${rows.length} />`;
}

function Fields() {
  const fields = [
    { name: "name", label: "Name", required: true, hint: "1 to 100 letters", focus: true },
    { name: "schedule", label: "Schedule", required: true, suggestions: ["@daily"] },
    { name: "type", label: "Type", type: "select", required: true, options: [["shell", "Shell"], ["prompt", "Prompt"]] },
    { name: "timeout_seconds", label: "Time limit", type: "number" },
    { name: "retry/delay_seconds", label: "Delay between tries", type: "number", when: (values) => values.type === "shell" },
    { name: "command", label: "Command", type: "code" },
    { name: "env", label: "Environment", type: "map" },
    { name: "tags", label: "Tags", type: "list" },
    { name: "start_at", label: "Not before", type: "time" },
    { name: "params", label: "Parameters", type: "json" },
    { name: "enabled", label: "Enabled", type: "check" },
  ];
  const values = { name: "", schedule: "* * * * *", type: "shell", timeout_seconds: 60, retry: { delay_seconds: 5 }, env: { A: "1" }, tags: ["ops"], enabled: true };
  const [sent, setSent] = useState("");
  const submit = async (record, changed) => {
    if (record.schedule.startsWith("61")) {
      const errors = [{ pointer: "#/schedule", detail: "minute 61 is outside 0-59" }, { pointer: "#/tags/0", detail: "too long" }];
      throw new ApiProblem({ status: 422, code: "validation-failed", title: "Request is not valid", detail: "2 fields", errors });
    }
    setSent(JSON.stringify([record, changed]));
  };
  return html`<${Form} fields=${fields} values=${values} submit=${submit} draft="parts" cancel="#/home" label="Job" /><output id="sent">${sent}</output>`;
}

function Output({ lines }) {
  const log = useMemo(() => createLog(), []);
  useEffect(() => {
    globalThis.addLines = (count) => log.append(linesFrom(log.lines.length, count));
    globalThis.addLines(lines);
  }, []);
  return html`<${LogView} log=${log} running name="test.log" />`;
}

function linesFrom(first, count) {
  return Array.from({ length: count }, (_, index) => {
    const n = first + index + 1;
    const text = n % 5 ? `copied /var/lib/data/file-${n}.bin` : `\u001b[32mok\u001b[0m \u001b[1;31mred\u001b[0m line ${n} ${"long ".repeat(n % 50)}`;
    return { n, ts: "2026-11-20T08:00:00.000Z", stream: n % 37 ? "stdout" : "stderr", text };
  });
}

function Code() {
  const [text, setText] = useState("name: nightly\nsteps:\n  - run: df\n    comand: x\n");
  const markers = [{ line: 4, tone: "bad", text: "Unknown key 'comand'. Did you mean command?" }, { line: 2, tone: "warn", text: "No time limit" }];
  return html`<${CodeView} text=${text} markers=${markers} label="Stored" /><${DiffView} patch=${"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"} label="Patch" />
    <${CodeEditor} value=${text} onInput=${setText} label="Workflow" markers=${markers} rows=${8} />`;
}

function States() {
  return html`<div class="row">${["succeeded", "failed", "missed", "running", "paused", "info"].map((state) => html`<${Status} state=${state} />`)}</div>
    <${Failure} error=${PROBLEM} retry=${() => toast.problem(PROBLEM)} />
    <${Empty} icon="cron" text="There are no jobs yet." action=${html`<button class="button" onClick=${() => toast.ok("Made")}>New job</button>`} command="tocsin cron list" />`;
}
