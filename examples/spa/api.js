// Calls of the API from a page on its own origin, and the place where what goes wrong is shown.

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Calls the API. Cookies go along by themselves, and an expired one is refreshed on the way.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
export async function call(method, path, body) {
  const response = await fetch(`/api${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  const problems = [answer.message].flat();
  throw Object.assign(new Error(problems.join("\n")), { status: response.status, problems });
}

/**
 * Shows each problem that begins with the name of a field ("title: must have at most 80 characters") at that field, and the
 * others above.
 * @param {HTMLFormElement} form
 * @param {Error & { problems?: string[] }} error
 */
export function showAtFields(form, { message, problems = [message] }) {
  const others = problems.filter((problem) => {
    const [, name = "", words = ""] = /^(\w+): (.+)$/s.exec(problem) ?? [];
    const field = form.elements.namedItem(name);
    if (!(field instanceof HTMLInputElement)) return true;
    field.setCustomValidity(words);
    field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
    return false;
  });
  showProblem(others.join("\n"));
  form.reportValidity();
}

/** What the API says went wrong is meant to be shown. @param {string} text */
export function showProblem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = text === "";
}
