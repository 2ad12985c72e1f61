// The list of examples; choosing one hands it to the query box.
import { byId, element } from "./element.js";
import { EXAMPLE_GROUPS } from "./examples.js";

const list = byId("examples");
const hint = byId("examples-hint");

export function renderExamples(onChoose) {
  list.replaceChildren(
    ...EXAMPLE_GROUPS.map(({ title, examples }) =>
      element(
        "div",
        { class: "example-group" },
        element("h3", {}, title),
        element("ul", {}, ...examples.map((example) => element("li", {}, exampleButton(example, onChoose)))),
      ),
    ),
  );
}

export function enableExamples(enabled, words) {
  for (const button of list.querySelectorAll("button")) button.disabled = !enabled;
  hint.textContent = words;
}

export function markExample(name) {
  for (const button of list.querySelectorAll("button")) {
    button.setAttribute("aria-current", String(button.dataset.example === name));
  }
}

function exampleButton(example, onChoose) {
  const button = element(
    "button",
    { type: "button", class: "example", "data-example": example.name },
    element("span", { class: "verb", "data-method": example.method }, example.method),
    element("span", {}, example.label),
  );
  button.addEventListener("click", () => onChoose(example));
  return button;
}
