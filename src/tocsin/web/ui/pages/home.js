// Home: items that need a person, the overall state, recent and upcoming runs.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { duration, number } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { featureEvents, FIRST_SHORTCUT, MANIFEST, pageOfSubsystem } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { go, link } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { refreshNow, status, useAway } from "../lib/stream.js";
import { Icon } from "../parts/icon.js";
import { PageHead } from "../parts/page_head.js";
import { Said } from "../parts/said.js";
import { Empty, Failure } from "../parts/states.js";
import { Shape, Status, toneOf } from "../parts/status.js";
import { Strip } from "../pages/home_strip.js";
import { Time } from "../parts/time.js";
import { HOME } from "../strings/home.js";

/** @typedef {import("../types/records.js").StatusReport} StatusReport */

export const page = definePage({
  title: HOME.title,
  /** The frame reads the status too: one answer serves both. @returns {Promise<StatusReport>} */
  load: async ({ signal }) => status.get() ?? (await api.get("/api/status", {}, { signal })),
  View: Home,
  events: `status.changed run.updated run.deleted delivery.* received.* ${featureEvents("*")}`,
  // The frame loads the status again, and `Home` watches it.
  onEvent(data, { type }) {
    if (type !== "status.changed") refreshNow();
    return data;
  },
});

/** @param {import("../lib/page.js").PageProps<StatusReport>} props */
function Home({ data }) {
  const report = /** @type {StatusReport} */ (useSignal(status) ?? data);
  const first = FIRST_SHORTCUT;
  useKeys(first ? [{ keys: "n", label: first.label, run: () => go(first.address) }] : []);
  const actions = html`<a class="button" href="#/msg"><${Icon} name="msg" />${HOME.send}</a>
    ${first && html`<a class="button button--primary" href=${first.address}><${Icon} name=${first.icon} />${first.label}</a>`}`;
  return html`
    <${PageHead} title=${HOME.title} note=${report.runs && html`<${Counts} runs=${report.runs} />`} actions=${actions} />
    <${Attention} items=${report.attention} seen=${report.checked_at} />
    <${Steps} report=${report} />
    <${Cards} subsystems=${report.subsystems} />
    <${Strip} seen=${report.checked_at} />
    <div class="columns">
      <div class="stack"><${Next} report=${report} /><${Services} report=${report} /></div>
      <${Recent} report=${report} />
    </div>`;
}

/** @param {{runs: NonNullable<StatusReport["runs"]>}} props */
function Counts({ runs }) {
  const { stats } = HOME;
  return html`<span class="counts">
    ${runs.active + runs.queued > 0 && html`<a href="#/runs?status=running"><${Shape} tone="busy" />${HOME.active(runs.active, runs.queued)}</a>`}
    ${runs.waiting > 0 && html`<a href="#/runs?status=waiting"><${Shape} tone="warn" />${HOME.waiting(runs.waiting)}</a>`}
    <span>${stats.span}</span>
    <a href="#/runs?status=succeeded"><${Shape} tone="ok" />${number(runs.succeeded_24h)} ${stats.succeeded}</a>
    <a href="#/runs?status=failed"><${Shape} tone=${runs.failed_24h ? "bad" : "off"} />${number(runs.failed_24h)} ${stats.failed}</a>
    ${runs.missed_24h > 0 && html`<a href="#/runs?status=missed"><${Shape} tone="warn" />${number(runs.missed_24h)} ${stats.missed}</a>`}
  </span>`;
}

/** @param {{items: StatusReport["attention"], seen: string}} props */
function Attention({ items, seen }) {
  const away = useAway();
  if (!items.length && away) return html`<p class="all-well all-well--unknown"><${Shape} tone="off" size=${16} /><span>${HOME.unknown} <${Time} at=${seen} />.</span></p>`;
  if (!items.length) return html`<p class="all-well"><${Shape} tone="ok" size=${16} />${HOME.allWell}</p>`;
  return html`<section class="attention" aria-labelledby="attention"><h2 id="attention">${HOME.attention}</h2>
    <ul>${items.map(({ severity, message, link: target }) => {
      const body = html`<${Shape} tone=${toneOf(severity)} size=${16} /><${Said} text=${message} />`;
      return html`<li class=${`attention__item attention__item--${toneOf(severity)}`} key=${message}>
        ${target ? html`<a href=${target}>${body}<span class="attention__open">${HOME.open}<${Icon} name="right" size=${14} /></span></a>` : body}
      </li>`;
    })}</ul></section>`;
}

/** The list is loaded unless it is hidden. @param {{report: StatusReport}} props */
function Steps({ report }) {
  const [part, setPart] = useState(/** @type {{view?: unknown, state?: unknown, error?: unknown}} */ ({}));
  const read = async () => {
    try {
      const state = await api.get("/api/settings/first-steps");
      setPart(state.dismissed ? {} : { state, view: (await import("../pages/home_steps.js")).FirstSteps });
    } catch (error) {
      setPart({ error });
    }
  };
  useEffect(() => void read(), []);
  if (part.error) return html`<section class="panel" aria-label=${HOME.firstSteps}><${Failure} error=${part.error} retry=${read} compact /></section>`;
  return part.view && html`<${part.view} report=${report} state=${part.state} />`;
}

/** @param {{subsystems: StatusReport["subsystems"]}} props */
function Cards({ subsystems }) {
  return html`<section aria-labelledby="areas"><h2 id="areas" class="visually-hidden">${HOME.areas}</h2>
    <ul class="cards">${Object.entries(subsystems).map(([name, one]) => html`<li key=${name}>
      <a class=${`card card--${toneOf(one.status)}`} href=${one.link}>
        <span class="card__head"><${Icon} name=${pageOfSubsystem(name)?.name ?? name} /><strong>${pageOfSubsystem(name)?.title ?? name}</strong></span>
        <span class="card__text" dir="auto">${one.summary || HOME.noSummary}</span>
        <span class="card__foot"><${Status} state=${one.status} quiet />
          ${one.last_event_at && html`<span class="card__when"><span class="visually-hidden">${HOME.lastEvent}</span> <${Time} at=${one.last_event_at} /></span>`}</span>
      </a></li>`)}</ul></section>`;
}

/** @param {{report: StatusReport}} props */
function Next({ report }) {
  const runs = report.next_runs;
  return html`<section class="panel"><div class="panel__head"><h2>${HOME.next}</h2><span class="muted">${report.timezone}</span></div>
    ${runs.length ? html`<ul class="lines">${runs.map((run) => html`<li key=${run.job_id + run.at}><a class="line" href=${link(MANIFEST.upcoming?.page ?? "runs", run.job_id)}>
      <span class="line__name" dir="auto">${run.name}</span><${Time} at=${run.at} zone=${report.timezone} clock /><span class="line__side"><${Time} at=${run.at} zone=${report.timezone} /></span></a></li>`)}</ul>`
      : html`<${Empty} text=${HOME.nextNone} action=${FIRST_SHORTCUT && html`<a class="button" href=${FIRST_SHORTCUT.address}>${FIRST_SHORTCUT.label}</a>`} command=${FIRST_SHORTCUT?.command} />`}
  </section>`;
}

/** @param {{report: StatusReport}} props */
function Recent({ report }) {
  const runs = report.recent_runs;
  return html`<section class="panel"><div class="panel__head"><h2>${HOME.recent}</h2><a href="#/runs">${HOME.allRuns}</a></div>
    ${runs.length ? html`<ul class="lines">${runs.map((run) => html`<li key=${run.id}><a class="line" href=${link("runs", run.id)}>
      <span class="line__name" dir="auto"><${Shape} tone=${toneOf(run.status)} />${run.subject_name}</span>
      <span class="line__state"><${Status} state=${run.status} title=${run.reason ?? undefined} quiet /></span>
      <span class="line__side">${duration(run.duration_ms)}</span>
      <span class="line__side"><${Time} at=${run.finished_at ?? run.started_at ?? run.queued_at} /></span></a></li>`)}</ul>`
      : html`<${Empty} icon="runs" text=${HOME.recentNone} />`}
  </section>`;
}

/** @param {{report: StatusReport}} props */
function Services({ report }) {
  return html`<section class="panel services"><div class="panel__head"><h2>${HOME.services}</h2><span class="muted">${HOME.checked} <${Time} at=${report.checked_at} /></span></div>
    <ul class="lines">${report.services.map((service) => html`<li class="line line--plain" key=${service.name}>
      <span class="line__name"><${Shape} tone=${toneOf(service.status)} />${HOME.serviceNames[service.name] ?? service.name}</span>
      <span class="muted">${service.detail}</span></li>`)}</ul>
  </section>`;
}
