// The files of a message: chosen, dropped or pasted, and sent with it.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { bytes } from "../lib/format.js";
import { Icon } from "../parts/icon.js";
import { Shape } from "../parts/status.js";
import { PICTURES, visibleName } from "../parts/message_files.js";
import { MSG } from "../strings/msg.js";

/** @typedef {{file: File, picture: string, alt: string}} ChosenFile  `picture` is the address of an image that can be shown, or empty; `alt` is what it shows. */
/** @typedef {{files: ChosenFile[], problem: string, over: boolean, add: (given: Iterable<File>) => void, remove: (one: ChosenFile) => void, describe: (one: ChosenFile, alt: string) => void, clear: () => void, events: Record<string, (event: any) => void>}} Choice */

const MOST = 10;

/**
 * Return the files of a message and the events by which an element takes them.
 * @param {number} limit  The bytes that they may have together.
 * @returns {Choice}
 */
export function useFiles(limit) {
  const [files, setFiles] = useState(/** @type {ChosenFile[]} */ ([]));
  const [problem, setProblem] = useState("");
  const [over, setOver] = useState(false);
  const shown = useRef(files);
  shown.current = files;
  useEffect(() => () => shown.current.forEach(release), []);
  /** @param {Iterable<File>} given */
  const add = (given) => {
    const next = [...shown.current];
    let refused = "";
    for (const file of given) {
      const size = next.reduce((sum, one) => sum + one.file.size, file.size);
      const reason = next.length >= MOST ? MSG.tooMany(MOST) : !file.size ? MSG.emptyFile(visibleName(file.name)) : size > limit ? MSG.tooLarge(visibleName(file.name), bytes(limit)) : "";
      if (reason) refused ||= reason;
      else next.push({ file, picture: PICTURES.has(file.type) ? URL.createObjectURL(file) : "", alt: "" });
    }
    shown.current = next;
    setFiles(next);
    setProblem(refused);
  };
  /** @param {ChosenFile} one */
  const remove = (one) => {
    release(one);
    setFiles(shown.current.filter((other) => other !== one));
    setProblem("");
  };
  /** @param {ChosenFile} one @param {string} alt */
  const describe = (one, alt) => setFiles(shown.current.map((other) => (other.file === one.file ? { ...other, alt } : other)));
  const clear = () => {
    shown.current.forEach(release);
    setFiles([]);
    setProblem("");
  };
  const events = {
    onDragOver: (/** @type {DragEvent} */ event) => holdsFiles(event.dataTransfer) && (event.preventDefault(), setOver(true)),
    onDragLeave: () => setOver(false),
    onDrop: (/** @type {DragEvent} */ event) => {
      setOver(false);
      if (!holdsFiles(event.dataTransfer)) return;
      event.preventDefault();
      const folder = foldersOf(event.dataTransfer)[0];
      add([.../** @type {DataTransfer} */ (event.dataTransfer).files].filter(({ name }) => name !== folder));
      if (folder) setProblem(MSG.folder(visibleName(folder)));
    },
    onPaste: (/** @type {ClipboardEvent} */ event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      add(event.clipboardData.files);
    },
  };
  return { files, problem, over, add, remove, describe, clear, events };
}

/** @param {ChosenFile} one */
function release({ picture }) {
  if (picture) URL.revokeObjectURL(picture);
}

/** @param {DataTransfer | null} data */
function holdsFiles(data) {
  return Boolean(data?.types.includes("Files"));
}

/** The names of dropped folders, which cannot be read as files. @param {DataTransfer | null} data */
function foldersOf(data) {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry?.());
  return entries.flatMap((entry) => (entry?.isDirectory ? [entry.name] : []));
}

/** @param {ChosenFile[]} files  As a dry run takes them, before they are uploaded. */
export function described(files) {
  return files.map(({ file, alt }) => ({ name: file.name, type: file.type.split(";")[0], size: file.size, ...(alt && { alt }) }));
}

/** The body of a request: JSON, or a form with files. @param {Record<string, any>} body @param {ChosenFile[]} files */
export function bodyWith(body, files) {
  if (!files.length) return body;
  const form = new FormData();
  const attach = files.flatMap(({ alt }, number) => (alt ? [{ part: `file-${number}`, alt }] : []));
  const message = attach.length ? { ...body, attach: [...(body.attach ?? []), ...attach] } : body;
  form.append("message", new Blob([JSON.stringify(message)], { type: "application/json" }));
  files.forEach(({ file }, number) => form.append(`file-${number}`, file, file.name));
  return form;
}

/** @param {{choice: Choice, limit: number, problem?: string, share?: number}} props  `share` is what was uploaded, while it is. */
export function FilesField({ choice, limit, problem, share }) {
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { files, add, remove, describe } = choice;
  const total = files.reduce((sum, { file }) => sum + file.size, 0);
  const wrong = choice.problem || problem;
  /** @param {any} event */
  const take = ({ currentTarget }) => {
    add(currentTarget.files);
    currentTarget.value = ""; // so that the same file can be chosen again
  };
  return html`<div class="field composer__files" role="group" aria-labelledby="files" aria-describedby="files-hint">
    <span class="field__label" id="files">${MSG.files}</span>
    ${files.length > 0 && html`<ul class="files">${files.map((one) => html`<li class="files__one">
      ${one.picture ? html`<img class="files__picture" src=${one.picture} alt="" />` : html`<${Icon} name="file" size=${20} />`}
      <span class="files__name"><bdi>${visibleName(one.file.name)}</bdi> <span class="muted">${bytes(one.file.size)}</span></span>
      ${one.picture && html`<input class="input files__alt" maxlength="1000" aria-label=${MSG.alt} placeholder=${MSG.alt} value=${one.alt} onInput=${(/** @type {any} */ event) => describe(one, event.currentTarget.value)} />`}
      <button type="button" class="icon-button" aria-label=${MSG.removeFile(visibleName(one.file.name))} onClick=${() => remove(one)}><${Icon} name="close" size=${15} /></button></li>`)}</ul>`}
    <div class="row"><input type="file" multiple hidden ref=${picker} onChange=${take} />
      <button type="button" class="button button--small" aria-describedby="files-hint" onClick=${() => picker.current?.click()}><${Icon} name="upload" size=${14} />${MSG.chooseFiles}</button>
      <span class="field__hint" id="files-hint">${files.length ? MSG.filesUsed(files.length, MOST, bytes(total), bytes(limit)) : MSG.filesHint(MOST, bytes(limit))}</span></div>
    ${wrong && html`<span class="field__problem" role="alert"><${Shape} tone="bad" />${wrong}</span>`}
    ${share !== undefined && html`<p class="files__progress"><progress max="1" value=${share} aria-label=${MSG.uploading}></progress> <span>${MSG.uploaded(share)}</span></p>`}
  </div>`;
}
