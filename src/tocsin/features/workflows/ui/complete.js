// Completions in a workflow: keys of the schema, values of a key, and known names.
import { KIND_KEYS, RUN_NAMES, STEP_KEYS, STEP_NAMES, WORKFLOW_KEYS } from "./workflow_keys.js";
import { WORKFLOW } from "./strings.js";

/** @typedef {import("./workflow_keys.js").Keys} Keys */
/** @typedef {import("tocsin/parts/suggestions.js").Suggestions} Suggestions */
/** @typedef {import("tocsin/parts/suggestions.js").Suggestion} Suggestion */
/** @typedef {{profiles: string[], skills: string[], hosts: string[], groups: string[], workflows: string[]}} Names  What there is. */
/** A line above: `key` is empty for an item of a list. @typedef {{indent: number, key: string, line: number}} Parent */

const ENTRY = /^(\s*)((?:- +)*)(?:([\w.-]+)(\s*:)?)?/;
const STEP_LISTS = ["steps", "on_success", "on_failure", "on_finish"];

/**
 * @param {string} text
 * @param {number} at  Where the cursor stands.
 * @param {Names} names
 * @returns {Suggestions | null}
 */
export function completionsAt(text, at, names) {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const before = text.slice(start, at);
  if (/^\s*#/.test(before) || /\s#/.test(before)) return null;
  const lines = text.split("\n");
  const here = text.slice(0, start).split("\n").length - 1;
  const variable = /\$(\{?)([\w.]*)$/.exec(before);
  if (variable) {
    const script = isScript(lines, here, before);
    // In shell text, complete variables of the shell; elsewhere, the expressions in braces.
    return script === !variable[1] ? found(at - variable[2].length, variable[2], script ? shellVariables(lines, here) : variables(lines, here)) : null;
  }
  const flow = /[{,]\s*(?:([\w.-]+)\s*:\s*)?([\w.-]*)$/.exec(before);
  const inFlow = flow && before.includes("{") && before.lastIndexOf("{") > before.lastIndexOf("}");
  const block = /^(\s*)((?:- +)*)(?:([\w.-]+)\s*:\s+\[?(?:[^\]]*,\s*)?)?([\w.-]*)$/.exec(before);
  const [key, word] = inFlow ? [flow[1] ?? "", flow[2]] : block ? [block[3] ?? "", block[4]] : ["", null];
  if (word === null) return null;
  const entry = /** @type {RegExpExecArray} */ (ENTRY.exec(before));
  const indent = entry[1].length + entry[2].length;
  const path = parentsOf(lines, here, indent);
  if (inFlow && entry[4]) path.unshift({ indent, key: entry[3], line: here });
  const from = at - word.length;
  const kind = kindOf(lines, here);
  const list = path[1]?.key;
  if (!key && !inFlow && path[0]?.key === "" && list && !STEP_LISTS.includes(list)) {
    return found(from, word, valuesOf(list, keysAt(path.slice(2), kind), lines, here, names, kind));
  }
  const place = keysAt(path, kind);
  if (key) return found(from, word, valuesOf(key, place, lines, here, names, kind));
  const taken = inFlow ? [...before.matchAll(/[{,]\s*([\w.-]+)\s*:/g)].map((one) => one[1]) : siblings(lines, here, indent);
  return place && found(from, word, keysLeft(place, taken, inFlow ? -1 : indent));
}

/**
 * @param {number} from
 * @param {string} typed
 * @param {Suggestion[]} all
 * @returns {Suggestions | null}
 */
function found(from, typed, all) {
  const low = typed.toLowerCase();
  const starting = all.filter(({ word }) => word.toLowerCase().startsWith(low));
  const holding = low.length > 1 ? all.filter(({ word }) => !word.toLowerCase().startsWith(low) && word.toLowerCase().includes(low)) : [];
  const options = [...starting, ...holding];
  return !options.length || (options.length === 1 && options[0].word === typed) ? null : { from, options };
}

/**
 * Return the parent lines of a line, the nearest first.
 * @param {string[]} lines
 * @param {number} here
 * @param {number} indent  Of the line, behind its dashes.
 * @returns {Parent[]}
 */
function parentsOf(lines, here, indent) {
  /** @type {Parent[]} */
  const found = [];
  let limit = indent;
  let dashLimit = indent;
  for (let line = here; line >= 0 && limit > 0; line -= 1) {
    const [, space, dashes, key, colon] = /** @type {RegExpExecArray} */ (ENTRY.exec(lines[line]));
    if (!lines[line].trim() || (line === here && !dashes)) continue;
    const inner = space.length + dashes.length;
    if (key && colon && inner < limit && line !== here) {
      found.push({ indent: inner, key, line });
      limit = inner;
      dashLimit = inner;
    }
    if (dashes && space.length < dashLimit) {
      found.push({ indent: space.length, key: "", line });
      // A list may be indented as far as its key.
      limit = space.length + 1;
      dashLimit = space.length;
    }
  }
  return found;
}

/**
 * Return the keys allowed at a place; null if names are free, or a value is expected.
 * @param {Parent[]} path  The nearest first.
 * @param {string} kind  The type of the step around it.
 * @returns {Keys | null}
 */
function keysAt(path, kind) {
  /** @type {Keys | null} */
  let keys = WORKFLOW_KEYS;
  /** @type {Keys | null} */
  let each = null;
  for (const { key } of [...path].reverse()) {
    if (key === "") {
      if (keys !== null) return null;
      keys = { ...STEP_KEYS, ...KIND_KEYS[kind] };
    } else if (each) {
      [keys, each] = [each, null];
    } else {
      const known = /** @type {import("./workflow_keys.js").Key | undefined} */ (keys?.[key]);
      if (!known) return null;
      each = known.each ?? null;
      keys = known.keys ?? null;
      if (!keys && !each && !STEP_LISTS.includes(key)) return null;
    }
  }
  return keys;
}

/** Return the type of the step around a line. @param {string[]} lines @param {number} here */
function kindOf(lines, here) {
  const inline = /[{,]\s*type\s*:\s*([\w-]+)/.exec(lines[here]);
  if (inline) return inline[1];
  let first = here;
  while (first > 0 && !/^\s*- /.test(lines[first])) first -= 1;
  const deep = /^\s*- +/.exec(lines[first])?.[0].length ?? 0;
  for (let line = first; line < lines.length && (line === first || !/^\s*- /.test(lines[line])); line += 1) {
    const kind = /^(\s*(?:- +)?)type\s*:\s*([\w-]+)/.exec(lines[line]);
    if (kind && kind[1].length === deep) return kind[2];
  }
  return "shell";
}

/**
 * Return the keys that are not present yet.
 * @param {Keys} keys
 * @param {string[]} taken
 * @param {number} indent  -1 within braces.
 */
function keysLeft(keys, taken, indent) {
  const below = `:\n${" ".repeat(indent + 2)}`;
  return Object.entries(keys).filter(([name]) => !taken.includes(name)).map(([name, { says, keys: inner, each, steps }]) => {
    const after = indent < 0 ? (inner ? ": {" : ": ") : steps ? `${below}- name: ` : inner || each ? below : ": ";
    return { word: name, says, after };
  });
}

/** @param {string[]} lines @param {number} here @param {number} indent */
function siblings(lines, here, indent) {
  /** @type {string[]} */
  const names = [];
  const look = (/** @type {number} */ line) => {
    const [, space, dashes, key, colon] = /** @type {RegExpExecArray} */ (ENTRY.exec(lines[line]));
    const deep = space.length + dashes.length;
    if (lines[line].trim() && deep < indent) return false;
    if (line !== here && key && colon && deep === indent) names.push(key);
    return true;
  };
  const isFirst = (/** @type {number} */ line) => /^\s*- /.test(lines[line]) && /** @type {RegExpExecArray} */ (ENTRY.exec(lines[line])).slice(1, 3).join("").length === indent;
  for (let line = here; line >= 0 && look(line) && !isFirst(line); line -= 1);
  for (let line = here + 1; line < lines.length && !isFirst(line) && look(line); line += 1);
  return names;
}

/**
 * @param {string} key
 * @param {Keys | null} place
 * @param {string[]} lines
 * @param {number} here
 * @param {Names} names
 * @param {string} kind
 * @returns {Suggestion[]}
 */
function valuesOf(key, place, lines, here, names, kind) {
  const words = place?.[key]?.words;
  if (words) return words.map((word) => ({ word, says: "", after: "" }));
  /** @type {Record<string, string[] | undefined>} */
  const known = {
    depends_on: stepNames(lines).filter((name) => name !== stepAt(lines, here)), notify_profile: names.profiles, profile: names.profiles, hosts: names.hosts, groups: names.groups,
    command: { skill: names.skills, workflow: names.workflows }[kind],
  };
  return (known[key] ?? []).map((word) => ({ word, says: WORKFLOW.named[/** @type {keyof typeof WORKFLOW.named} */ (key)] ?? "", after: "" }));
}

/** @param {string[]} lines @returns {string[]} */
function stepNames(lines) {
  return lines.flatMap((line) => /^\s*- +(?:\{\s*)?(?:.*,\s*)?name\s*:\s*([\w-]+)/.exec(line)?.[1] ?? []);
}

/** Return the names that `${…}` may refer to. @param {string[]} lines @param {number} here @returns {Suggestion[]} */
function variables(lines, here) {
  const steps = stepNames(lines.slice(0, here)).filter((name) => name !== stepAt(lines, here));
  const { named } = WORKFLOW;
  return [
    ...entriesOf(lines, "params").map(({ name }) => ({ word: `params.${name}`, says: named.params, after: "}" })),
    ...steps.flatMap((step) => [
      ...entriesOf(lines, "outputs", step).map(({ name }) => ({ word: `steps.${step}.outputs.${name}`, says: named.outputs, after: "}" })),
      ...STEP_NAMES.map((name) => ({ word: `steps.${step}.${name}`, says: named.step, after: "}" })),
    ]),
    ...entriesOf(lines, "env").map(({ name }) => ({ word: `env.${name}`, says: named.env, after: "}" })),
    ...RUN_NAMES.map((name) => ({ word: `run.${name}`, says: named.run, after: "}" })),
  ];
}

/** Return true if the text before the cursor is part of a shell script. @param {string[]} lines @param {number} here @param {string} before */
function isScript(lines, here, before) {
  const indent = /** @type {RegExpExecArray} */ (/^ */.exec(before))[0].length;
  const inside = /(?:^|[\s{,])command\s*:(?!\s*\[)/.test(before) || parentsOf(lines, here, indent)[0]?.key === "command";
  return inside && ["shell", "ssh"].includes(kindOf(lines, here));
}

/** @param {string[]} lines @param {number} here */
function shellVariables(lines, here) {
  return variables(lines, here).flatMap(({ word, says }) => {
    const [root, ...rest] = word.split(".");
    const names = { params: ["PARAM", ...rest], env: rest, steps: rest[1] === "outputs" ? ["STEP", rest[0], rest[2]] : [] }[root] ?? [];
    const name = names.join("_").replaceAll("-", "_");
    return name ? [{ word: root === "env" ? name : name.toUpperCase(), says, after: "" }] : [];
  });
}

/**
 * Return the names directly below a key of the file or of a step.
 * @param {string[]} lines
 * @param {string} key
 * @param {string} [step]
 */
function entriesOf(lines, key, step = "") {
  return lines.flatMap((line, index) => {
    const inline = new RegExp(`^\\s*${key}\\s*:\\s*\\{(.*)`).exec(line)?.[1];
    if (inline !== undefined && stepAt(lines, index) === step) return [...inline.matchAll(/(?:^|,)\s*([A-Za-z_]\w*)\s*:/g)].map((one) => ({ name: one[1] }));
    const [, space, name] = /^( +)([A-Za-z_]\w*)\s*:/.exec(line) ?? ["", "", ""];
    const path = name ? parentsOf(lines, index, space.length) : [];
    return path[0]?.key === key && stepAt(lines, index) === step ? [{ name }] : [];
  });
}

/** Return the name of the step of a line; empty outside of steps. @param {string[]} lines @param {number} line */
function stepAt(lines, line) {
  const indent = /** @type {RegExpExecArray} */ (/^ */.exec(lines[line]))[0].length;
  const item = parentsOf(lines, line, indent).find(({ key }) => key === "");
  return item ? stepNames(lines.slice(item.line, line + 1))[0] ?? "" : "";
}
