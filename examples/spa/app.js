// A single-page app on Portico's own origin. The session lives in cookies that no script can read: nothing to store.

import { byId, call, showAtFields, showProblem } from "./api.js";
import { showFiles } from "./files.js";

// What `npm run types -- examples/spa/tables.ts` made of the tables: the compiler knows them too (`npm run check`).
/** @import { CreateOf, FilterOf, RecordOf } from "./tables.js" */

/**
 * Runs `action` with the form's fields, and shows what goes wrong.
 * @param {string} id
 * @param {(fields: Record<string, FormDataEntryValue>) => Promise<void>} action
 */
function onSubmit(id, action) {
  byId(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    showProblem("");
    const form = /** @type {HTMLFormElement} */ (event.target);
    await action(Object.fromEntries(new FormData(form))).catch((error) => showAtFields(form, error));
  });
}

/** @typedef {Pick<RecordOf<"posts">, "id" | "title" | "status">} Post */

async function showPosts(text = "") {
  /** @type {FilterOf<"posts">} */
  const filter = text === "" ? {} : { title: { _contains: text } };
  const query = new URLSearchParams({
    fields: "id,title,status",
    sort: "-createdAt",
    limit: "10",
    meta: "filterCount",
    filter: JSON.stringify(filter),
  });
  const { data, meta } = await call("GET", `/posts?${query}`);
  byId("count").textContent = `${meta.filterCount} posts`;
  byId("posts").replaceChildren(
    ...data.map((/** @type {Post} */ post) => {
      const item = document.createElement("li");
      item.textContent = `${post.title} (${post.status})`;
      return item;
    }),
  );
}

/** @returns {Promise<string>} the user's e-mail; "" when nobody is signed in, which a 401 says */
async function whoAmI() {
  return call("GET", "/me?fields=email").then(
    ({ data }) => data[0].email,
    (error) => {
      if (error.status !== 401) throw error;
      return "";
    },
  );
}

async function show() {
  const email = await whoAmI();
  byId("signed-in").hidden = email === "";
  byId("signed-out").hidden = email !== "";
  byId("who").textContent = email;
  if (email !== "") await Promise.all([showPosts(), showFiles()]);
}

/** Another tab may have signed in somebody else, and Back shows the page as it was left. */
async function lookAgain() {
  if (document.hidden) return;
  if ((await whoAmI()) !== byId("who").textContent) location.reload();
}

/** A provider is a link: the browser goes there, and comes back signed in. */
async function showProviders() {
  const { data } = await call("GET", "/auth/providers");
  byId("providers").hidden = data.length === 0;
  for (const { provider } of data) {
    const link = document.createElement("a");
    // `error` must not stand in the address that the next try returns to.
    const redirect = encodeURIComponent(location.origin + location.pathname);
    link.href = `/api/auth/${provider}?redirect=${redirect}`;
    link.textContent = provider;
    byId("providers").append(" ", link);
  }
}

onSubmit("login", async ({ email, password }) => {
  await call("POST", "/login", { email, password });
  await show();
});
onSubmit("filter", ({ text }) => showPosts(String(text)));
onSubmit("create", async ({ title }) => {
  /** @type {CreateOf<"posts">} */
  const post = { title: String(title) };
  await call("POST", "/posts", post);
  await showPosts();
});
byId("logout").addEventListener("click", async () => {
  await call("POST", "/logout");
  await show();
});

/** More of them: docs/oauth.md. Anybody can put an `error` into a link, so what it says is never shown. */
const REASONS = new Map([
  ["access_denied", "The provider was told no."],
  ["email_in_use", "The e-mail address belongs to an account here."],
  ["account_disabled", "The account is deactivated."],
]);
const error = new URLSearchParams(location.search).get("error");
if (error !== null) showProblem(`Signing in did not work. ${REASONS.get(error) ?? ""}`);
await Promise.all([show(), showProviders()]).catch((problem) => showProblem(problem.message));
addEventListener("pageshow", ({ persisted }) => persisted && lookAgain().catch(() => location.reload()));
for (const event of ["visibilitychange", "focus"]) addEventListener(event, () => lookAgain().catch(() => {}));
