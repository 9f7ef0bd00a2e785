"use strict";
// Received text reaches the document only as text nodes.

const CHANNELS = {
  teamchat: { name: "slack", about: "or teamchat" },
  botchat: { name: "telegram", about: "or botchat" },
  guildchat: { name: "discord", about: "or guildchat" },
  email: { name: "email", about: "an SMTP server" },
  chatmodel: { name: "chat model", about: "asked by the bot" },
};
const FORMS = {
  teamchat: { label: "Write in #general as Alice", hint: "uptime, or /uptime" },
  guildchat: { label: "Call a slash command as Alice", hint: "/uptime" },
};
const KEPT = 200;
const TYPING_MS = 5000;
const opened = Date.now() / 1000;
const lists = {};
const chats = new Map();
const rows = new Map();
let current = 0;
let last = 0;
let refreshes = 0;
let typingEnds = 0;

const find = (id) => document.getElementById(id);

function make(tag, className = "", ...children) {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
}

function makeButton(text, act) {
  const button = make("button", "", text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

function makeTime(seconds) {
  const at = new Date(seconds * 1000);
  const node = make("time", "", at.toLocaleTimeString());
  node.dateTime = at.toISOString();
  return node;
}

async function send(path, body, form) {
  const trouble = form.querySelector(".trouble");
  trouble.textContent = "";
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.ok) return true;
    trouble.textContent = (await answer.json()).error;
  } catch {
    trouble.textContent = "There is no answer; has the demo ended?";
  }
  return false;
}

// What a message looks like. Entities nest and do not cross; offsets count UTF-16 units, as strings do here.

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code", pre: "pre",
  blockquote: "blockquote",
};

function isWebAddress(address) {
  return URL.canParse(address) && ["http:", "https:"].includes(new URL(address).protocol);
}

function elementOf(entity, text) {
  const address = entity.url || text;
  if (["text_link", "url"].includes(entity.type) && isWebAddress(address)) {
    const link = make("a");
    link.href = address;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    return link;
  }
  if (entity.type === "bot_command") {
    const button = makeButton("", () => say(text));
    button.className = "command";
    return button;
  }
  return make(TAGS[entity.type] || "span", entity.type);
}

function fill(parent, text, start, end, queue) {
  let at = start;
  while (queue.length && queue[0].offset < end) {
    const entity = queue.shift();
    const from = Math.max(entity.offset, at);
    const to = Math.min(entity.offset + entity.length, end);
    if (to <= from) continue;
    const inner = elementOf(entity, text.slice(from, to));
    fill(inner, text, from, to, queue);
    // A block begins its own line.
    const before = text.slice(at, from);
    parent.append(isBlock(entity) ? before.replace(/\n$/, "") : before, inner);
    at = isBlock(entity) && text[to] === "\n" && to < end ? to + 1 : to;
  }
  parent.append(text.slice(at, end));
}

function isBlock(entity) {
  return ["pre", "blockquote"].includes(entity.type);
}

function format(text, entities) {
  const node = make("div", "text");
  fill(node, text, 0, text.length, [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length));
  return node;
}

// The conversation.

function makeMessage(message) {
  if (message.note) return make("p", "note", message.note);
  const bubble = make("div", "bubble");
  if (message.reply) bubble.append(make("div", "reply", message.reply));
  if (message.file) bubble.append(make("div", "file", "File: " + message.file));
  if (message.text) bubble.append(format(message.text, message.entities));
  const meta = make("div", "meta", message.name);
  if (message.edited) meta.append(make("span", "", "edited"));
  meta.append(makeTime(message.at));
  bubble.append(meta);
  const article = make("article", message.own ? "own" : "", bubble);
  if (message.reaction) {
    const reaction = make("span", "reaction", message.reaction);
    reaction.setAttribute("aria-label", "Reaction " + message.reaction);
    reaction.setAttribute("role", "img");
    article.append(reaction);
  }
  if (message.buttons.length) article.append(makeKeys(message));
  return article;
}

function makeKeys(message) {
  const keys = make("div", "keys");
  for (const row of message.buttons) {
    keys.append(make("div", "", ...row.map(({ text, data }) => makeButton(text, () => press(message.id, data)))));
  }
  return keys;
}

function press(messageId, data) {
  const body = { chat_id: current, message_id: messageId, data, sender_name: chats.get(current).sender };
  return send("/_standin/press", body, find("write"));
}

function say(text) {
  const body = { chat_id: current, text, sender_name: chats.get(current).sender };
  return send("/_standin/say", body, find("write"));
}

// The words in the field go along as the caption.
async function sendFile(file) {
  const body = {
    chat_id: current, name: file.name, mime: file.type, data: await base64Of(file),
    caption: find("text").value.trim(), sender_name: chats.get(current).sender,
  };
  if (await send("/_standin/file", body, find("write"))) find("text").value = "";
}

function base64Of(file) {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });
}

async function refresh() {
  const ticket = ++refreshes;
  const answer = await fetch("/conversation.json?chat=" + current);
  const { messages } = await answer.json();
  if (ticket !== refreshes) return; // a younger answer is on its way
  const place = find("conversation");
  const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  const ids = new Set(messages.map((message) => message.id));
  for (const [id, row] of rows) {
    if (ids.has(id)) continue;
    row.node.remove();
    rows.delete(id);
  }
  place.querySelector(".empty")?.remove();
  if (!messages.length) place.append(make("p", "empty", "No messages yet."));
  messages.forEach((message) => showMessage(place, message));
  if (atEnd) place.scrollTop = place.scrollHeight;
}

function showMessage(place, message) {
  const state = JSON.stringify(message);
  const known = rows.get(message.id);
  if (known?.state === state) return;
  const node = makeMessage(message);
  if (!known) place.append(node);
  else replace(known.node, node);
  rows.set(message.id, { state, node });
}

function replace(old, node) {
  const index = [...old.querySelectorAll("button")].indexOf(document.activeElement);
  old.replaceWith(node);
  if (index >= 0) (node.querySelectorAll("button")[index] || find("text")).focus();
}

function showTyping(until) {
  typingEnds = until;
  const isTyping = until > Date.now();
  find("typing").textContent = isTyping ? "Tocsin is typing…" : "";
  if (isTyping) setTimeout(() => typingEnds === until && showTyping(0), until - Date.now());
}

function choose(id) {
  const chat = chats.get(id);
  current = id;
  rows.clear();
  find("conversation").replaceChildren();
  find("about").textContent = chat.about;
  find("text").placeholder = chat.hint;
  find("tries").replaceChildren(...chat.tries.map((text) => makeButton(text, () => say(text))));
  chat.news.textContent = "";
  showTyping(0);
  return refresh().catch(tellLost);
}

function addChat(chat) {
  const input = make("input");
  Object.assign(input, { type: "radio", name: "chat", value: chat.id, checked: !current });
  input.addEventListener("change", () => choose(chat.id));
  const news = make("span", "news");
  find("chats").append(make("label", "", input, chat.title + " ", news));
  chats.set(chat.id, { ...chat, news });
  current ||= chat.id;
}

function hearBot(items) {
  let changed = false;
  for (const item of items) {
    const chat = Number(item.target) || current; // the answer to a button names no chat
    const spoke = ["message", "edit"].includes(item.kind);
    if (chat === current) {
      changed = true;
      if (item.kind === "action") showTyping(item.at * 1000 + TYPING_MS);
      else if (spoke) showTyping(0);
    } else if (spoke && item.at > opened && chats.has(chat)) chats.get(chat).news.textContent = "● new";
  }
  return changed ? refresh() : undefined;
}

// What every channel received.

function addSection(channel) {
  const count = make("output", "", "0");
  const { name, about } = CHANNELS[channel] || { name: channel, about: "" };
  const title = make("h2", "", name, make("small", "", about), count);
  const list = make("ol");
  list.tabIndex = 0;
  list.setAttribute("aria-label", "Received by " + name);
  list.hidden = true;
  const empty = make("p", "empty", "Nothing received yet.");
  const section = make("section", "", title);
  if (FORMS[channel]) section.append(makeForm(channel));
  section.append(empty, list);
  find("received").append(section);
  lists[channel] = { list, empty, count, total: 0 };
}

function makeForm(channel) {
  const form = make("form");
  const label = make("label", "", FORMS[channel].label);
  const input = make("input");
  input.id = label.htmlFor = "call-" + channel;
  input.placeholder = FORMS[channel].hint;
  input.autocomplete = "off";
  const trouble = make("p", "trouble");
  trouble.setAttribute("role", "alert");
  form.append(label, input, make("button", "", "Send"), trouble);
  onSend(form, input, (text) => send("/_standin/call", { channel, text }, form));
  return form;
}

function onSend(form, input, act) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    input.value = "";
    if (!(await act(text)) && !input.value) input.value = text;
  });
}

function show(item) {
  if (!lists[item.channel]) addSection(item.channel);
  const place = lists[item.channel];
  const direction = item.kind === "inbound" ? "from " + item.account + " in " : "to ";
  const meta = make("div", "meta", makeTime(item.at));
  if (item.target) meta.append(make("span", "", direction + item.target));
  if (item.thread) meta.append(make("span", "", "thread " + item.thread));
  if (item.kind !== "message") meta.append(make("span", "kind", item.kind));
  if (item.fault) meta.append(make("span", "fault", "met fault: " + item.fault));
  const entry = make("li", "", meta);
  if (item.subject) entry.append(make("div", "subject", item.subject));
  entry.append(make("div", "text", item.text));
  place.list.prepend(entry);
  while (place.list.children.length > KEPT) place.list.lastElementChild.remove();
  place.empty.hidden = true;
  place.list.hidden = false;
  place.total += 1;
  place.count.textContent = place.total;
}

function tellLost() {
  find("state").textContent = "Connection lost; trying again…";
}

async function follow() {
  for (;;) {
    try {
      const answer = await fetch("/received.json?after=" + last);
      if (!answer.ok) throw new Error(String(answer.status));
      const data = await answer.json();
      if (data.last < last) location.reload(); // started anew: numbers begin at 1 again
      const items = data.received.filter((item) => item.n > last);
      items.forEach(show);
      last = data.last;
      await hearBot(items.filter((item) => item.channel === "botchat"));
      find("state").textContent = "Live";
    } catch {
      tellLost();
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

async function start() {
  Object.keys(CHANNELS).forEach(addSection);
  onSend(find("write"), find("text"), say);
  find("attach").addEventListener("click", () => find("file").click());
  find("file").addEventListener("change", async ({ target }) => {
    for (const file of target.files) await sendFile(file);
    target.value = "";
  });
  (await (await fetch("/chats.json")).json()).chats.forEach(addChat);
  await choose(current);
  find("state").textContent = "Live";
  await follow();
}

start();
