// A server-rendered app on an origin of its own. Browsers reach the API through it: /portal/** is {API_URL}/api/**.
import { request as ask, createServer } from "node:http";
import { pipeline } from "node:stream";

const API_URL = new URL(
  process.env.API_URL ?? process.env.APP_URL ?? `http://localhost:${process.env.PORT ?? 3000}`,
).origin;
const PORT = Number(process.env.SSR_PORT ?? 4000);
/** Must stand in Portico's ALLOWED_ORIGINS, to the letter, with the prefix behind it. */
const OWN_ORIGIN = `http://chat.localhost:${PORT}`;
const PREFIX = "/portal";
const MOST_OF_A_SIGN_IN = 16 * 1024;

/** @typedef {import("node:http").IncomingMessage} Request */
/** @typedef {import("node:http").ServerResponse} Response */

/** More of them: docs/oauth.md. Anybody can put an `error` into a link, so what it says is never shown. */
const REASONS = new Map([
  ["access_denied", "The provider was told no."],
  ["email_in_use", "The e-mail address belongs to an account here."],
  ["account_disabled", "The account is deactivated."],
]);

const server = createServer(async (request, response) => {
  const address = request.url ?? "/";
  // What follows the method need not be one: `GET //`.
  if (!URL.canParse(address, OWN_ORIGIN)) return response.writeHead(400).end("Bad request");
  const url = new URL(address, OWN_ORIGIN);
  try {
    if (url.pathname.startsWith(`${PREFIX}/`)) return proxy(request, response);
    if (request.method === "POST" && url.pathname === "/login") return await logIn(request, response);
    if (request.method === "POST" && url.pathname === "/logout") return await logOut(request, response);
    const error = url.searchParams.get("error");
    const reason = error === null ? null : (REASONS.get(error) ?? "");
    if (url.pathname === "/") return await home(request, response, reason);
    response.writeHead(404).end("Not found");
  } catch (error) {
    console.error(error);
    response.writeHead(502).end("The API can not be reached.");
  }
});

/**
 * The whole proxy: method, headers and body go on as they are, and so does the answer, but for what is said of one
 * connection alone, the browser's or the API's: a `Trailer` that goes on would end this process where the body ends. Nor does
 * `Strict-Transport-Security` go on: it would bind this app's host, its other ports and the names below it to https.
 * Redirects are the browser's to follow, and Set-Cookie is the point of it. When either side breaks off, so does the other:
 * a stream of events whose page was closed must not stay open.
 * @param {Request & { originalUrl?: string }} request Express takes the prefix off `url`, and keeps it in `originalUrl`
 * @param {Response} response
 */
function proxy(request, response) {
  const target = new URL(`/api${(request.originalUrl ?? request.url ?? "").slice(PREFIX.length)}`, API_URL);
  // Dots are resolved only here: `/portal/../metrics` would leave the API.
  if (!`${target.pathname}/`.startsWith("/api/")) return void response.writeHead(404).end("Not found");
  const ofTheConnection =
    "connection expect http2-settings keep-alive proxy-connection te trailer upgrade".split(" ");
  const { method = "GET" } = request;
  /** @type {import("node:http").OutgoingHttpHeaders} */
  const headers = { ...request.headers, ...forwardedFor(request), host: new URL(API_URL).host };
  // `Transfer-Encoding` goes on: by it Node tells the API where the body ends.
  for (const name of ofTheConnection) delete headers[name];
  const upstream = ask(target, { method, headers });
  upstream.on("response", (answer) => {
    const ofTheApi = ["transfer-encoding", "strict-transport-security"];
    for (const name of [...ofTheConnection, ...ofTheApi]) delete answer.headers[name];
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    // `pipe` would leave the browser waiting for the rest of an answer that was cut.
    pipeline(answer, response, () => {});
  });
  upstream.on("error", () => {
    if (!response.headersSent) response.writeHead(502).end("The API can not be reached.");
  });
  response.on("close", () => {
    request.unpipe(upstream);
    upstream.destroy();
    // A browser is still sending what was refused early, such as a file that is too large; it reads the answer when that was read.
    request.resume();
  });
  request.pipe(upstream);
}

/**
 * Whom this is for, in place of whatever the browser says of itself: limits and the audit log go by the address.
 * @param {Request} request
 */
function forwardedFor({ socket }) {
  return { "x-forwarded-for": socket.remoteAddress ?? "" };
}

/**
 * Calls the API for this browser: its cookies go along, and the ones that come back (a refresh, a sign-in) are handed
 * on. Origin and Sec-Fetch-Site let the gateway judge forms of other pages; by Sec-Fetch-Site and Sec-Purpose it knows whose
 * visit may be broken off, and sends no new cookies with that.
 * @param {Request} request
 * @param {Response} response
 * @param {string} path
 * @param {RequestInit} [init]
 */
async function callApi(request, response, path, init = {}) {
  const passed = ["cookie", "origin", "sec-fetch-site", "sec-purpose", "user-agent"].flatMap((name) => {
    const value = request.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const headers = {
    ...Object.fromEntries(passed),
    ...forwardedFor(request),
    "Content-Type": "application/json",
  };
  const answer = await fetch(`${API_URL}/api${path}`, { redirect: "manual", ...init, headers });
  handOn(answer.headers.getSetCookie(), response);
  return { status: answer.status, body: await answer.json() };
}

/**
 * Beside the cookies that an app sets itself, and in place of those of the calls before: a page may need several.
 * @param {string[]} cookies
 * @param {Response} response
 */
function handOn(cookies, response) {
  /** @param {string} cookie */
  const nameOf = (cookie) => cookie.split("=", 1)[0];
  const names = cookies.map(nameOf);
  const set = [response.getHeader("Set-Cookie") ?? []].flat().map(String);
  const others = set.filter((cookie) => !names.includes(nameOf(cookie)));
  if (cookies.length > 0) response.setHeader("Set-Cookie", [...others, ...cookies]);
}

/** @param {Request} request @param {Response} response @param {string | null} reason @param {number} [status] */
async function home(request, response, reason, status = 200) {
  const me = await callApi(request, response, "/me?fields=id,email,name");
  const { body: providers } = await callApi(request, response, "/auth/providers");
  // Any other status says nothing of who is there: a page must not offer to sign in somebody who is.
  if (me.status !== 200 && me.status !== 401) throw new Error(`/me was answered ${me.status}`);
  const page = me.status === 200 ? signedIn(me.body.data[0]) : signedOut(providers.data, reason);
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    // In another page's frame its buttons could be hidden under what a visitor is led to click on.
    "Content-Security-Policy": "frame-ancestors 'none'",
    // A page that opens it in a window could break off what it asks the API, and so lose the cookies of a refresh.
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
  });
  const user = me.status === 200 ? me.body.data[0].id : "";
  response.end(`<!doctype html><html lang="en"><title>Chat</title>
    <main data-user="${user}"><h1>Chat</h1>${page}</main><script type="module">${LOOK_AGAIN}</script></html>`);
}

/**
 * Another tab may have signed in somebody else, and Back shows a page as it was left, `no-store` or not. So does a browser that
 * has fetched it ahead, where speculation rules, a CDN's for instance, have it do so.
 */
const LOOK_AGAIN = `
  async function lookAgain() {
    if (document.hidden) return;
    const answer = await fetch("${PREFIX}/me?fields=id");
    if (!answer.ok && answer.status !== 401) throw new Error("Nobody can say who is signed in.");
    const user = answer.ok ? (await answer.json()).data[0].id : "";
    if (user !== document.querySelector("main").dataset.user) location.replace("/");
  }
  // A browser that hides how fast it is, such as Tor's, tells of no entry.
  const [visit] = performance.getEntriesByType("navigation");
  const isOld = ({ persisted }) => persisted || visit?.deliveryType === "navigational-prefetch";
  addEventListener("pageshow", (shown) => isOld(shown) && lookAgain().catch(() => location.replace("/")));
  for (const event of ["visibilitychange", "focus"]) addEventListener(event, () => lookAgain().catch(() => {}));`;

/** @param {{ email: string, name: string | null }} user */
function signedIn({ email, name }) {
  return `<p>Hello <strong id="who">${escapeHtml(name ?? email)}</strong>.</p>
    <form method="post" action="/logout"><button id="logout">Sign out</button></form>`;
}

/** @param {{ provider: string }[]} providers @param {string | null} reason */
function signedOut(providers, reason) {
  const search = new URLSearchParams({ redirect: `${OWN_ORIGIN}/`, cookieBridgePrefix: PREFIX });
  const links = providers.map(
    ({ provider }) => `<a href="${PREFIX}/auth/${provider}?${escapeHtml(search.toString())}">${provider}</a>`,
  );
  return `${reason === null ? "" : `<p id="problem">Signing in did not work. ${escapeHtml(reason)}</p>`}
    <form method="post" action="/login">
      <label>E-mail <input name="email" type="email" required></label>
      <label>Password <input name="password" type="password" required></label>
      <button id="login">Sign in</button>
    </form>
    <p>or with ${links.join(" ")}</p>`;
}

/** @param {Request} request @param {Response} response */
async function logIn(request, response) {
  let text = "";
  // Anybody may send one without end. What is more than a sign-in may hold is read, or the browser gets no answer, and thrown away.
  for await (const chunk of request) if (text.length < MOST_OF_A_SIGN_IN) text += chunk;
  const form = new URLSearchParams(text);
  const body = JSON.stringify({ email: form.get("email") ?? "", password: form.get("password") ?? "" });
  const { status, body: answer } = await callApi(request, response, "/login", { method: "POST", body });
  if (status === 200) response.writeHead(303, { Location: "/" }).end();
  // Not only a wrong password: too many tries, or an origin that ALLOWED_ORIGINS doesn't name. The API says what.
  else await home(request, response, [answer.message].flat().join(" "), status);
}

/** @param {Request} request @param {Response} response */
async function logOut(request, response) {
  await callApi(request, response, "/logout", { method: "POST", body: "{}" });
  response.writeHead(303, { Location: "/" }).end();
}

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

server.listen(PORT, "127.0.0.1", () => {
  const whereItIs = `The example is at ${OWN_ORIGIN}, and its API at ${API_URL}`;
  // Started by hand, there is nobody to tell; `npm run example:ssr` waits for it, and shows it below what Portico has to say.
  if (process.send === undefined) return console.log(whereItIs);
  process.send({ type: "app", description: whereItIs });
  process.send({ type: "ready", url: OWN_ORIGIN });
});
// The last is how `npm run example:ssr` stops it on Windows, and what it sees of one that was killed.
for (const event of ["SIGTERM", "SIGINT", "disconnect"]) {
  process.once(event, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
