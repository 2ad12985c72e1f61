// Signing in and out. The cookies are HttpOnly: this file only ever learns who the user is.
import { call, problemsOf } from "./api.js";
import { byId, element } from "./element.js";
import { onReturn } from "./on-return.js";
import { wordsOf } from "./provider-errors.js";

const form = byId("login-form");
const email = byId("email");
const password = byId("password");
const submit = byId("login");
const problem = byId("login-problem");
const account = byId("account");
const logoutProblem = byId("logout-problem");
const masthead = account.closest(".masthead");

/** `onChange(user)` is told of every change; the user is null when nobody is signed in. */
export function startSession(onChange) {
  let current = null;

  function show(user) {
    current = user;
    form.hidden = user !== null;
    account.hidden = user === null;
    masthead.dataset.session = user === null ? "out" : "in";
    byId("whoami").textContent = user?.email ?? "";
    byId("whoami-root").hidden = user?.isRootAdmin !== true;
    onChange(user);
  }

  /** Asks who is signed in; an API in trouble changes nothing. */
  async function check() {
    show(await whoAmI().catch(() => current));
  }

  onReturn(async () => {
    const shown = current;
    const user = await whoAmI();
    // What was asked before this page itself signed in or out is answered too late.
    if (shown === current && user?.id !== shown?.id) show(user);
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    submit.disabled = true;
    const trouble = troubleOf(await logIn());
    submit.disabled = false;
    if (trouble === null) {
      password.value = "";
      await check();
      byId("workbench-title").focus();
      return;
    }
    problem.textContent = trouble;
    problem.hidden = false;
    password.select();
  });

  byId("logout").addEventListener("click", async () => {
    const answer = await call("POST", "/api/logout");
    const trouble = troubleOf(answer);
    logoutProblem.textContent = trouble ?? "";
    logoutProblem.hidden = trouble === null;
    if (trouble !== null) return;
    show(null);
    email.focus();
  });

  offerProviders();
  return { check };
}

/** The user; null when nobody is signed in. Rejects when the API is in trouble. */
async function whoAmI() {
  const answer = await call("GET", "/api/me");
  if (answer.ok) return answer.json?.data?.[0] ?? null;
  if (answer.status === 401) return null;
  throw new Error("Nobody can say who is signed in.");
}

/** A provider is a link: the browser goes there, and comes back signed in, or with an `error`. */
async function offerProviders() {
  const answer = await call("GET", "/api/auth/providers");
  const names = answer.ok ? answer.json.data.map(({ provider }) => provider) : [];
  const redirect = encodeURIComponent(`${location.origin}/`);
  for (const name of names) {
    byId("providers").append(" ", element("a", { href: `/api/auth/${name}?redirect=${redirect}` }, name));
  }
  byId("providers").hidden = names.length === 0;
  const error = new URLSearchParams(location.search).get("error");
  if (error === null) return;
  problem.textContent = wordsOf(error);
  problem.hidden = false;
}

/** Null when it worked, otherwise what to tell the user. */
function troubleOf(answer) {
  if (!answer.reached) return "The API could not be reached. Is npm start still running in the terminal?";
  if (answer.ok) return null;
  const wait = answer.headers.get("retry-after");
  const again = answer.status === 429 && wait !== null ? ` Try again in ${wait} seconds.` : "";
  return problemsOf(answer).join(" ") + again;
}

async function logIn() {
  const body = JSON.stringify({
    email: email.value,
    password: password.value,
    ...(byId("remember").checked ? { remember: true } : {}),
  });
  return call("POST", "/api/login", { body });
}
