// Uploads with a progress bar, and a gallery of what was uploaded. Pictures are shown by an address: the browser sends
// the session's cookies along, so private ones are seen by those who may.
import { byId, call, showProblem } from "./api.js";

/**
 * `fetch` tells nothing of how far an upload is; XMLHttpRequest does.
 * @param {File} file
 * @param {(part: number) => void} onProgress from 0 to 1
 */
function upload(file, onProgress) {
  const form = new FormData();
  // Text parts may stand beside it: folder, title, description, isPublic.
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/svc_file");
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
    request.onload = () => {
      if (request.status === 201) resolve(request.response.data[0]);
      else reject(new Error([request.response?.message ?? request.statusText].flat().join("\n")));
    };
    request.onerror = () => reject(new Error("The upload was cut off."));
    request.send(form);
  });
}

/** @typedef {{ id: string, filename: string, mimetype: string, width: number | null, folder: { id: string } | null }} Stored */

/** @param {Stored} file */
function preview({ id, filename, width }) {
  // Only pictures have a width; others are a link by their name.
  if (width === null) return document.createTextNode(filename);
  const image = document.createElement("img");
  image.src = `/assets/${id}?width=160&height=120&fit=cover`;
  image.alt = filename;
  return image;
}

/**
 * @param {string} text
 * @param {() => Promise<unknown>} action
 */
function button(text, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.addEventListener("click", () => run(action));
  return element;
}

/** Does something, shows what goes wrong, then shows what there is now. @param {() => Promise<unknown>} action */
async function run(action) {
  showProblem("");
  await action().catch((error) => showProblem(error.message));
  await showFiles();
}

/**
 * @param {Stored} file
 * @param {{ id: string, name: string, depth: number }[]} folders
 */
function folderChoice({ id, folder }, folders) {
  const choice = document.createElement("select");
  choice.ariaLabel = "Folder";
  choice.append(new Option("no folder", ""));
  for (const { id: value, name, depth } of folders)
    choice.append(new Option("– ".repeat(depth) + name, value));
  choice.value = folder?.id ?? "";
  choice.addEventListener("change", () =>
    run(() => call("PATCH", `/svc_file/${id}`, { folder: choice.value === "" ? null : choice.value })),
  );
  return choice;
}

/** Counts the times that the gallery was asked for: answers may come in another order. */
let asked = 0;

/** Whoever has no rule for files has no gallery. */
export async function showFiles() {
  asked += 1;
  const turn = asked;
  const query = "fields=id,filename,mimetype,width,folder&sort=-createdAt&limit=20";
  const [files, folders] = await Promise.all([
    call("GET", `/svc_file?${query}`),
    call("GET", "/svc_folder/tree?flat=true"),
  ]).catch((error) => {
    if (error.status !== 403) throw error;
    return [undefined, undefined];
  });
  if (turn !== asked) return;
  byId("files").hidden = files === undefined;
  if (files === undefined) return;
  byId("gallery").replaceChildren(
    ...files.data.map((/** @type {Stored} */ file) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `/assets/${file.id}`;
      link.append(preview(file));
      item.append(
        ...[link, folderChoice(file, folders.data)],
        button("Delete", () => call("DELETE", `/svc_file/${file.id}`)),
      );
      return item;
    }),
  );
}

byId("upload").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const bar = /** @type {HTMLProgressElement} */ (byId("progress"));
  const [file] = /** @type {HTMLInputElement} */ (form.elements.namedItem("file")).files ?? [];
  if (file === undefined) return;
  bar.value = 0;
  bar.hidden = false;
  run(() =>
    upload(file, (part) => {
      bar.value = part;
    }),
  ).then(() => {
    bar.hidden = true;
    form.reset();
  });
});
byId("new-folder").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const { name } = Object.fromEntries(new FormData(form));
  run(() => call("POST", "/svc_folder", { name })).then(() => form.reset());
});
