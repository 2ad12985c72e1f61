// The query box: method, address and body in; `run` asks the API and shows the answer.
import { encodeAddress, parseAddress } from "./address.js";
import { showAnswer, showFailure, showWaiting } from "./answer-view.js";
import { call } from "./api.js";
import { curlCommand } from "./curl.js";
import { byId, copyText } from "./element.js";
import { markExample } from "./example-list.js";

const WITH_BODY = new Set(["POST", "PATCH", "QUERY"]);
const UNREACHABLE = "The API could not be reached. Is npm start still running in the terminal?";

const form = byId("query");
const method = byId("query-method");
const path = byId("query-path");
const body = byId("query-body");
const bodyField = byId("query-body-field");
const run = byId("run");
const note = byId("query-note");
const curl = byId("curl");

let running = null;
let choice = 0;

/** `onAnswer(method, answer)` is told of every answer. */
export function startQueryBox(onAnswer) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    runQuery(onAnswer);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!run.disabled) form.requestSubmit();
    }
  });
  method.addEventListener("change", fitFields);
  path.addEventListener("input", () => {
    markExample(null);
    fitFields();
  });
  body.addEventListener("input", fitFields);
  window.addEventListener("resize", fitFields);
  byId("copy-curl").addEventListener("click", copyAsCurl);
}

export function enableRunning(enabled) {
  run.disabled = !enabled;
}

/** What is still asked is shown to nobody any more. */
export function abandonQuery() {
  running?.abort();
}

/** Fills the box from an example; an id in its address is looked up first. */
export async function fillQuery(example) {
  choice += 1;
  const chosen = choice;
  setQuery(example, example.address);
  if (example.id === undefined || run.disabled) return;
  const found = await call("GET", encodeAddress(parseAddress(example.id)));
  if (chosen !== choice) return;
  const id = found.json?.data?.[0]?.id;
  if (id === undefined) note.textContent = example.idMissing ?? "Put an id in place of {id}.";
  else setQuery(example, example.address.replace("{id}", encodeURIComponent(id)));
}

function setQuery(example, address) {
  method.value = example.method;
  path.value = address;
  body.value = example.body ?? "";
  note.textContent = "";
  curl.hidden = true;
  markExample(example.name ?? null);
  fitFields();
}

async function runQuery(onAnswer) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  note.textContent = "";
  curl.hidden = true;
  try {
    const query = typedQuery();
    showWaiting();
    const answer = await call(query.method, query.address, { body: query.body, signal: mine.signal });
    if (!answer.reached) showFailure(UNREACHABLE);
    else showAnswer(answer);
    onAnswer(query.method, answer);
  } catch (error) {
    if (!mine.signal.aborted) showFailure(error.message);
  }
}

function typedQuery() {
  const parsed = parseAddress(path.value, location.origin);
  const text = body.value.trim();
  const sendsBody = WITH_BODY.has(method.value) && text !== "";
  return {
    method: method.value,
    origin: location.origin,
    ...parsed,
    address: encodeAddress(parsed),
    body: sendsBody ? text : undefined,
  };
}

async function copyAsCurl() {
  try {
    const command = curlCommand(typedQuery());
    const copied = await copyText(command);
    curl.textContent = command;
    curl.hidden = false;
    note.textContent = `${copied ? "Copied." : "Copy it from here."} $TOKEN is the accessToken that POST /api/auth/login answers.`;
  } catch (error) {
    note.textContent = error.message;
  }
}

/** Shows the body only where one is sent, and lets both fields grow with their text. */
function fitFields() {
  method.dataset.method = method.value;
  bodyField.hidden = !WITH_BODY.has(method.value);
  for (const field of [path, body]) {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  }
}
