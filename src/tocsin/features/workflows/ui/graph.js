// The steps of a workflow as a graph: each wave is a column, or a row on a narrow screen; arrows start at dependencies.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { duration } from "tocsin/lib/format.js";
import { toneOf, wordOf } from "tocsin/parts/status.js";
import { WORKFLOW } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").StepRun} StepRun */
/** @typedef {import("tocsin/types/records.js").WorkflowGraph} Drawing */
/** @typedef {Drawing["nodes"][number]} Node */
/** @typedef {Node & {x: number, y: number}} Placed */

const [WIDTH, HEIGHT, GAP_X, GAP_Y, EDGE] = [176, 48, 56, 20, 8];
const MOST_LETTERS = 22;
const ROUNDS = 4;
const GAP_DOWN = 36;
const narrow = matchMedia("(max-width: 720px)");

/** @param {{drawing: Drawing, label: string, steps?: StepRun[], choose?: (id: string) => void}} props  `steps`: of a run that is shown in it. */
export function Graph({ drawing, label, steps = [], choose }) {
  const upright = useNarrow();
  const placed = layOut(drawing, upright);
  const byId = new Map(placed.map((node) => [node.id, node]));
  const width = Math.max(...placed.map(({ x }) => x + WIDTH), 0) + 2 * EDGE;
  const height = Math.max(...placed.map(({ y }) => y + HEIGHT), 0) + 2 * EDGE;
  const stateOf = (/** @type {string} */ id) => steps.find((step) => step.name === id);
  return html`<div class="graph" tabindex="0" role="region" aria-label=${label}><svg viewBox=${`${-EDGE} ${-EDGE} ${width} ${height}`} width=${width} height=${height} role="img" aria-label=${`${label}: ${describe(drawing, steps)}`}>
    ${drawing.edges.map(([from, to]) => html`<${Arrow} from=${byId.get(from)} to=${byId.get(to)} upright=${upright} done=${stateOf(from)?.status === "succeeded"} />`)}
    ${placed.map((node) => html`<${Box} key=${node.id} node=${node} step=${stateOf(node.id)} choose=${choose} />`)}
  </svg></div>`;
}

function useNarrow() {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const look = () => set(narrow.matches);
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, []);
  return is;
}

/** @param {{from?: Placed, to?: Placed, upright: boolean, done: boolean}} props */
function Arrow({ from, to, upright, done }) {
  if (!from || !to) return null;
  const name = done ? "graph__arrow graph__arrow--done" : "graph__arrow";
  if (upright) {
    const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y];
    const bend = Math.max((y2 - y1) / 2, 12);
    return html`<g class=${name}><path d=${`M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2 - 6}`} />
      <path class="graph__head" d=${`M${x2} ${y2}l-4 -7h8z`} /></g>`;
  }
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = Math.max((x2 - x1) / 2, 16);
  return html`<g class=${name}><path d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 6} ${y2}`} />
    <path class="graph__head" d=${`M${x2} ${y2}l-7 -4v8z`} /></g>`;
}

/** @param {{node: Placed, step?: StepRun, choose?: (id: string) => void}} props */
function Box({ node, step, choose }) {
  const tone = step && step.status !== "queued" ? toneOf(step.status) : "none";
  const second = step ? [wordOf(step.status), step.duration_ms != null && duration(step.duration_ms)].filter(Boolean).join(", ") : node.type;
  return html`<g class=${`graph__box graph__box--${tone}${choose ? " graph__box--link" : ""}`} transform=${`translate(${node.x} ${node.y})`} onClick=${choose && (() => choose(node.id))}>
    <title>${[node.id, node.type, step && wordOf(step.status), step?.error?.message].filter(Boolean).join("\n")}</title>
    <rect width=${WIDTH} height=${HEIGHT} rx="6" /><rect class="graph__side" width="4" height=${HEIGHT} rx="2" />
    <text x="14" y="20" class="graph__name">${shortened(node.id)}</text><text x="14" y="37" class="graph__note">${shortened(second)}</text></g>`;
}

/** @param {string} text */
function shortened(text) {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

/** Describe the graph in words, for screen readers. @param {Drawing} drawing @param {StepRun[]} steps */
function describe({ nodes, edges }, steps) {
  return nodes.map(({ id }) => {
    const before = edges.filter(([, to]) => to === id).map(([from]) => from);
    const step = steps.find(({ name }) => name === id);
    return [id, step && wordOf(step.status), before.length && WORKFLOW.after(before.join(", "))].filter(Boolean).join(" ");
  }).join("; ");
}

/**
 * Place the nodes by waves; within a wave each is near the middle of its dependencies, so that few arrows cross.
 * @param {Drawing} drawing
 * @param {boolean} [upright]  Waves below each other, and not beside.
 * @returns {Placed[]}
 */
export function layOut({ nodes, edges }, upright = false) {
  const columns = [...new Set(nodes.map(({ wave }) => wave))].sort((one, other) => one - other).map((wave) => nodes.filter((node) => node.wave === wave));
  /** @type {Map<string, number>} */
  const row = new Map();
  const tallest = Math.max(...columns.map(({ length }) => length), 1);
  const number = (/** @type {Node[]} */ column) => column.forEach(({ id }, index) => row.set(id, index + (tallest - column.length) / 2));
  columns.forEach(number);
  for (let round = 0; round < ROUNDS; round += 1) {
    const forward = round % 2 === 0;
    for (const column of forward ? columns : [...columns].reverse()) {
      const middle = new Map(column.map(({ id }) => [id, middleOf(neighbours(id, edges, forward), row) ?? row.get(id) ?? 0]));
      column.sort((one, other) => (middle.get(one.id) ?? 0) - (middle.get(other.id) ?? 0));
      number(column);
    }
  }
  return columns.flatMap((column, wave) => column.map((node) => {
    const place = row.get(node.id) ?? 0;
    return upright ? { ...node, x: place * (WIDTH + GAP_Y), y: wave * (HEIGHT + GAP_DOWN) } : { ...node, x: wave * (WIDTH + GAP_X), y: place * (HEIGHT + GAP_Y) };
  }));
}

/** @param {string} id @param {[string, string][]} edges @param {boolean} before */
function neighbours(id, edges, before) {
  return edges.flatMap(([from, to]) => (before && to === id ? [from] : !before && from === id ? [to] : []));
}

/** @param {string[]} ids @param {Map<string, number>} row */
function middleOf(ids, row) {
  return ids.length ? ids.reduce((sum, id) => sum + (row.get(id) ?? 0), 0) / ids.length : undefined;
}
