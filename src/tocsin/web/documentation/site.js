// The search, the theme, and buttons that copy commands. Pages can be read without it.
(function () {
  "use strict";
  const root = document.body.dataset.root ?? "";
  const input = /** @type {HTMLInputElement} */ (document.getElementById("site-search"));
  const list = /** @type {HTMLUListElement} */ (document.getElementById("site-found"));
  const MOST = 12;
  const AROUND = 60; // characters of the text before a hit, and twice as many after it

  /** @typedef {{page: string, title: string, heading: string, anchor: string, text: string, low: string, head: string}} Section */
  /** @type {Promise<Section[]> | undefined} */
  let loading;
  let chosen = -1;

  function sections() {
    loading ??= fetch(`${root}search.json`)
      .then((answer) => {
        if (!answer.ok) throw new Error(String(answer.status));
        return answer.json();
      })
      .then((/** @type {[string, string, [string, string, string][]][]} */ pages) =>
        pages.flatMap(([page, title, parts]) =>
          parts.map(([heading, anchor, text]) => ({ page, title, heading, anchor, text, low: text.toLowerCase(), head: `${title} ${heading}`.toLowerCase() }))))
      .catch((error) => {
        loading = undefined; // the next key tries again
        throw error;
      });
    return loading;
  }

  /** How well a section fits: every word is in it, best in its heading. @param {Section} section @param {string[]} words */
  function score(section, words) {
    let sum = 0;
    for (const word of words) {
      const inHead = section.head.includes(word);
      const hits = section.low.split(word).length - 1;
      if (!inHead && !hits) return 0;
      sum += (inHead ? 20 : 0) + (section.heading.toLowerCase().startsWith(word) ? 10 : 0) + Math.min(hits, 5);
    }
    if (/^(decisions|facts)\//.test(section.page)) return sum / 8; // background: below a guide that mentions the words
    return /^(measured|tour)$/.test(section.page) ? sum / 2 : sum; // figures and pictures: below what explains
  }

  /** @param {Element} parent @param {string} text @param {string[]} words */
  function marked(parent, text, words) {
    const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
    text.split(pattern).forEach((part, n) => {
      if (n % 2) parent.appendChild(document.createElement("mark")).textContent = part;
      else parent.append(part);
    });
  }

  /** @param {Section} section @param {string[]} words */
  function row(section, words) {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    const link = item.appendChild(document.createElement("a"));
    link.href = `${root}${section.page}.html#${section.anchor}`;
    link.tabIndex = -1;
    marked(link, section.heading === section.title ? section.title : `${section.title} › ${section.heading}`, words);
    const at = Math.max(0, ...words.map((word) => section.low.indexOf(word)));
    const start = Math.max(0, at - AROUND);
    const shown = section.text.slice(start, at + 2 * AROUND);
    if (shown) marked(link.appendChild(document.createElement("small")), `${start ? "…" : ""}${shown}…`, words);
    return item;
  }

  /** @param {string} text */
  function say(text) {
    const item = document.createElement("li");
    item.appendChild(document.createElement("p")).textContent = text;
    show([item]);
  }

  /** @param {HTMLElement[]} items */
  function show(items) {
    chosen = -1;
    list.replaceChildren(...items);
    list.hidden = !items.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
  }

  async function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return show([]);
    const asked = input.value;
    let known;
    try {
      known = await sections();
    } catch {
      return say("The search could not be loaded. Type again to retry.");
    }
    if (asked !== input.value) return; // the person typed on
    const found = known
      .map((section) => /** @type {[number, Section]} */ ([score(section, words), section]))
      .filter(([points]) => points)
      .sort(([one], [other]) => other - one)
      .slice(0, MOST);
    if (found.length) show(found.map(([, section]) => row(section, words)));
    else say(`Nothing matches “${asked.trim()}”.`);
  }

  /** @param {number} step */
  function choose(step) {
    const options = [...list.querySelectorAll("[role=option]")];
    if (!options.length) return;
    chosen = (chosen + step + options.length) % options.length;
    options.forEach((option, n) => {
      option.id = `site-found-${n}`;
      option.setAttribute("aria-selected", String(n === chosen));
    });
    input.setAttribute("aria-activedescendant", `site-found-${chosen}`);
    options[chosen]?.scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("focus", () => void sections().catch(() => undefined));
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      const link = list.querySelectorAll("a")[Math.max(0, chosen)];
      if (link) location.assign(link.href);
    } else if (event.key === "Escape") {
      input.value = "";
      show([]);
      input.blur();
    }
  });
  list.addEventListener("click", () => show([]));
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Node && !list.contains(event.target) && event.target !== input) show([]);
  });

  document.getElementById("site-theme")?.addEventListener("click", () => {
    const next = document.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("tocsin.theme", JSON.stringify(next));
      document.dispatchEvent(new Event("tocsin-theme"));
    } catch {
      document.documentElement.setAttribute("data-theme", next); // storage is refused: for this page only
    }
  });

  for (const block of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? "");
      button.textContent = "Copied";
    });
    block.append(button);
    block.tabIndex = 0;
  }
  const pages = document.querySelector("nav details");
  if (pages && window.matchMedia("(max-width: 780px)").matches) pages.removeAttribute("open");
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
})();
