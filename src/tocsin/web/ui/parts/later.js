// A part of a page that is loaded when it is shown, because few visits need it.
import { html, useEffect, useState } from "../vendor/preact.js";
import { Failure, Loading } from "../parts/states.js";

/** @param {{load: () => Promise<unknown>, props: Record<string, any>}} props  `load` gives the component. */
export function Later({ load, props }) {
  const [View, setView] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const fetch_ = () => void load().then((part) => setView(() => part), setError);
  useEffect(fetch_, []);
  if (error) return html`<${Failure} error=${error} retry=${fetch_} compact />`;
  return View ? html`<${View} ...${props} />` : html`<${Loading} lines=${6} />`;
}
