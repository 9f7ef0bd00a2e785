"""The page's HTML, style and script in one text; `{nonce}` stands where the policy's nonce goes.

Received text reaches the document only as `textContent`.
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stand-in providers</title>
<style nonce="{nonce}">
:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f6f8, #14161a);
  --card: light-dark(#ffffff, #1d2026);
  --line: light-dark(#dfe2e8, #30353e);
  --ink: light-dark(#1b1f27, #e8eaee);
  --soft: light-dark(#596273, #9aa3b2);
  --accent: light-dark(#2456c4, #8fb2ff);
  --warn: light-dark(#9a4a00, #ffb870);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  padding: 1rem 1.25rem .75rem; }
h1 { font-size: 1.15rem; margin: 0; }
#state { color: var(--soft); font-size: .85rem; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1rem;
  padding: 0 1.25rem 2rem; align-items: start; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden; }
h2 { font-size: .95rem; margin: 0; padding: .6rem .9rem; border-bottom: 1px solid var(--line);
  display: flex; gap: .5rem; }
h2 small { color: var(--soft); font-weight: 400; }
h2 output { margin-left: auto; color: var(--soft); font-weight: 400; font-variant-numeric: tabular-nums; }
ol { list-style: none; margin: 0; padding: 0; max-height: 70vh; overflow: auto; }
li { padding: .6rem .9rem; border-bottom: 1px solid var(--line); }
li:last-child { border-bottom: 0; }
.meta { color: var(--soft); font-size: .8rem; display: flex; flex-wrap: wrap; gap: 0 .6rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.subject { font-weight: 600; }
.kind { color: var(--accent); }
.fault { color: var(--warn); }
.empty { color: var(--soft); padding: 1.2rem .9rem; margin: 0; }
form { display: flex; gap: .5rem; padding: .6rem .9rem; border-bottom: 1px solid var(--line); }
input, button { font: inherit; color: inherit; border: 1px solid var(--line); border-radius: .4rem;
  padding: .3rem .6rem; }
input { flex: 1; min-width: 0; background: var(--ground); }
button { background: var(--card); cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
</style>
</head>
<body>
<header><h1>Stand-in providers</h1><span id="state" role="status">Connecting…</span></header>
<main id="channels"></main>
<noscript><p class="empty">This page needs JavaScript.
The same data is at <a href="/received.json">/received.json</a>.</p></noscript>
<script nonce="{nonce}">
"use strict";
const CHANNELS = {
  teamchat: "imitates Slack",
  botchat: "imitates Telegram",
  guildchat: "imitates Discord",
  email: "an SMTP server",
};
const KEPT = 200;
const lists = {};
let last = 0;

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function addSection(channel) {
  const section = make("section");
  const title = make("h2", "", channel);
  const count = make("output", "", "0");
  title.append(make("small", "", CHANNELS[channel] || ""), count);
  const list = make("ol");
  const empty = make("p", "empty", "Nothing received yet. What is sent to this channel appears here.");
  section.append(title);
  if (channel === "botchat") section.append(sayForm());
  section.append(empty, list);
  document.getElementById("channels").append(section);
  lists[channel] = { list, empty, count, total: 0 };
}

function sayForm() {
  const form = make("form");
  const label = make("label", "unseen", "Write to the bot as Alice");
  const input = make("input");
  input.id = "say";
  label.htmlFor = "say";
  input.placeholder = "Write to the bot as Alice (chat 1001)";
  input.autocomplete = "off";
  form.append(label, input, make("button", "", "Send"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    const answer = await fetch("/_standin/say", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ chat_id: 1001, text }),
    });
    if (answer.ok) input.value = "";
  });
  return form;
}

function show(item) {
  if (!lists[item.channel]) addSection(item.channel);
  const place = lists[item.channel];
  const entry = make("li");
  const meta = make("div", "meta");
  const time = make("time", "", new Date(item.at * 1000).toLocaleTimeString());
  time.dateTime = new Date(item.at * 1000).toISOString();
  const direction = item.kind === "inbound" ? "from " + item.account + " in " : "to ";
  meta.append(time, make("span", "", direction + item.target));
  if (item.thread) meta.append(make("span", "", "thread " + item.thread));
  if (item.kind !== "message") meta.append(make("span", "kind", item.kind));
  if (item.fault) meta.append(make("span", "fault", "met fault: " + item.fault));
  entry.append(meta);
  if (item.subject) entry.append(make("div", "subject", item.subject));
  entry.append(make("div", "text", item.text));
  place.list.prepend(entry);
  while (place.list.children.length > KEPT) place.list.lastElementChild.remove();
  place.empty.hidden = true;
  place.total += 1;
  place.count.textContent = place.total;
}

async function follow() {
  const state = document.getElementById("state");
  for (;;) {
    try {
      const answer = await fetch("/received.json?after=" + last);
      if (!answer.ok) throw new Error(String(answer.status));
      const data = await answer.json();
      if (data.last < last) location.reload(); // started anew: numbers begin at 1 again
      for (const item of data.received) {
        if (item.n <= last) continue;
        last = item.n;
        show(item);
      }
      state.textContent = "Live";
    } catch {
      state.textContent = "Connection lost; trying again…";
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

Object.keys(CHANNELS).forEach(addSection);
document.getElementById("state").textContent = "Live";
follow();
</script>
</body>
</html>
"""
