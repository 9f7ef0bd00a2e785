// The address of a door, which is shown once, with what to paste where.
import { html } from "tocsin/vendor/preact.js";
import { CopyButton } from "tocsin/parts/copy.js";
import { Shape } from "tocsin/parts/status.js";
import { SET_UP } from "./strings.js";

/** @param {{found: import("tocsin/types/records.js").DoorSetUp}} props */
export function SetUp({ found }) {
  return html`<section class="stack" aria-labelledby="address"><h2 id="address">${SET_UP.title}</h2>
    <p class="notice notice--info" role="status"><span class="copied"><code class="wraps">${found.url}</code><${CopyButton} text=${found.url} /></span> <span>${SET_UP.once}</span></p>
    ${found.local_only && html`<p class="muted"><${Shape} tone="warn" /> ${SET_UP.local}</p>`}
    <div class="door__texts">${found.instructions.map(({ product, text }) => html`<section class="stack"><h3>${product}</h3>
      <div class="code"><pre tabindex="0">${text}</pre><${CopyButton} text=${text} label=${SET_UP.copy(product)} /></div></section>`)}</div>
  </section>`;
}
