// Shows one answer: outcome, time, size, what went wrong in the API's words, and the body.
import { problemsOf } from "./api.js";
import { byId, element } from "./element.js";
import { jsonNodes } from "./json-view.js";

const SHOWN_CHARACTERS = 200 * 1024;

const card = byId("answer").closest(".answer");
const status = byId("answer-status");
const problem = byId("answer-problem");
const body = byId("answer");
const foot = byId("answer-foot");

export function showIdle(words) {
  card.setAttribute("aria-busy", "false");
  status.replaceChildren();
  problem.hidden = true;
  foot.hidden = true;
  body.replaceChildren(words);
}

export function showWaiting() {
  card.setAttribute("aria-busy", "true");
  status.replaceChildren("Running…");
}

/** A query that never left the page, or that nobody answered. */
export function showFailure(words) {
  showIdle("");
  status.replaceChildren(element("span", { class: "status-code", "data-outcome": "bad" }, "No answer"));
  problem.replaceChildren(element("p", {}, words));
  problem.hidden = false;
}

export function showAnswer(answer) {
  card.setAttribute("aria-busy", "false");
  const outcome = answer.status === 0 ? "A redirect" : `${answer.status} ${answer.statusText}`.trim();
  status.replaceChildren(
    element("span", { class: "status-code", "data-outcome": answer.ok ? "good" : "bad" }, outcome),
    ` · ${Math.max(1, Math.round(answer.milliseconds))} ms · ${sizeOf(answer.bytes)}`,
  );
  problem.hidden = answer.ok;
  if (!answer.ok) problem.replaceChildren(...problemNodes(answer));
  const text = answer.json === undefined ? answer.text : JSON.stringify(answer.json, null, 2);
  body.replaceChildren(jsonNodes(text.slice(0, SHOWN_CHARACTERS)));
  body.scrollTop = 0;
  const notes = footNotes(answer, text.length);
  foot.replaceChildren(notes.join(" "));
  foot.hidden = notes.length === 0;
}

function problemNodes(answer) {
  const words = problemsOf(answer);
  const code = answer.json?.error?.code;
  const list =
    words.length === 1
      ? element("p", {}, words[0])
      : element("ul", {}, ...words.map((word) => element("li", {}, word)));
  return typeof code === "string" ? [element("code", {}, code), list] : [list];
}

function footNotes(answer, length) {
  const notes = [];
  if (length > SHOWN_CHARACTERS || !answer.complete) {
    notes.push(`Shown up to ${sizeOf(SHOWN_CHARACTERS)} of a long answer; use curl for all of it.`);
  }
  const location = answer.headers.get("location");
  if (location !== null) notes.push(`Location: ${location}.`);
  const correlationId = answer.headers.get("x-correlation-id");
  if (!answer.ok && correlationId !== null) notes.push(`In the logs: ${correlationId}`);
  return notes;
}

function sizeOf(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
