// The note below a list that is defined in a file: which file, and its format.
import { html } from "../vendor/preact.js";
import { useSignal } from "../lib/store.js";
import { status } from "../lib/stream.js";
import { CopyButton } from "../parts/copy.js";
import { FILE_NOTE } from "../strings/file_note.js";

/**
 * @param {{file: string, doc: string, more?: string, edit?: string}} props
 *   `doc`: the page of the documentation, such as `ssh.html#hosts`; `edit`: what stands before the file.
 */
export function FileNote({ file, doc, more = "", edit = FILE_NOTE.edit }) {
  const folder = useSignal(status)?.data_dir;
  const path = folder ? `${folder}/${file}` : file;
  return html`<footer class="file-note"><p>${edit} <span class="copied"><code>${path}</code><${CopyButton} text=${path} /></span> ${FILE_NOTE.read} ${more}</p>
    <a class="button button--small" href=${`/docs/${doc}`}>${FILE_NOTE.docs}</a></footer>`;
}
