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
  throw Object.assign(new Error([answer.message].flat().join("\n")), { status: response.status });
}

/** What the API says went wrong is meant to be shown. @param {string} text */
export function showProblem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = text === "";
}
