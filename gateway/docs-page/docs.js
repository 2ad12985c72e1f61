// Shows the OpenAPI document of whoever looks. What is tried goes to the same address, with its cookies.
import { onReturn } from "./on-return.js";

/** Where the API lies: this page is `{api}/docs`, below whatever prefix an app forwards it from. */
const api = location.pathname.replace(/\/docs\/?$/, "");

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
async function call(path, init) {
  const response = await fetch(api + path, init);
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error([answer.message].flat().join("\n")), { status: response.status });
}

/** @returns the signed-in user's address; undefined for visitors */
async function whoAmI() {
  try {
    return (await call("/me?fields=email")).data[0].email;
  } catch (error) {
    if (error.status !== 401) throw error;
    return undefined;
  }
}

/**
 * Swagger UI follows every reference to its end when an operation is opened. Between tables that lead to each other these are
 * thousands of schemas, and seconds: of a schema inside another one the name is shown, under which it is listed.
 * @param {any} spec
 */
function withoutDepth(spec) {
  const { schemas } = spec.components;
  const nameOf = (/** @type {any} */ node) => /^#\/components\/schemas\/(.+)$/.exec(node.$ref ?? "")?.[1];
  const leadsOn = (/** @type {string} */ name) => JSON.stringify(schemas[name] ?? {}).includes('"$ref":');
  const cut = (/** @type {any} */ node) => {
    if (Array.isArray(node)) return node.map(cut);
    if (typeof node !== "object" || node === null) return node;
    const name = nameOf(node);
    if (name !== undefined) return leadsOn(name) ? { title: name, description: `as ${name}` } : node;
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, cut(value)]));
  };
  return { ...spec, components: { ...spec.components, schemas: cut(schemas) } };
}

/**
 * A page can't set a Cookie header: what is typed in for the scheme `cookie` would be sent by nobody, while the page says
 * "Authorized". The browser's own cookies go along anyway. Where no call asks for either, as for visitors, so it is with a token.
 * @param {any} spec
 */
function withoutCookie({ components, paths, ...spec }) {
  const { securitySchemes, ...others } = components;
  const { cookie: _cookie, ...sent } = securitySchemes;
  const each = (/** @type {object} */ node, /** @type {(value: any) => unknown} */ change) =>
    Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value)]));
  const bare = (/** @type {any} */ operation) => ({
    ...operation,
    security: operation.security.filter((/** @type {object} */ scheme) => !("cookie" in scheme)),
  });
  const asks = Object.values(paths).flatMap((item) =>
    Object.values(item).map(({ security }) => security.length > 0),
  );
  return {
    ...spec,
    components: asks.includes(true) ? { ...others, securitySchemes: sent } : others,
    paths: each(paths, (item) => each(item, bare)),
  };
}

/**
 * Swagger UI sends the parts of a form as they stand, with its examples, so that new content would empty the file's title too.
 * @param {any} spec
 */
function withoutFacts({ paths, ...spec }) {
  const form = "multipart/form-data";
  const onlyRequired = (/** @type {any} */ { properties, ...schema }) => ({
    ...schema,
    properties: Object.fromEntries(
      schema.required.map((/** @type {string} */ name) => [name, properties[name]]),
    ),
  });
  const cut = (/** @type {any} */ operation) => {
    const { requestBody } = operation;
    const given = requestBody?.content[form];
    if (given === undefined) return operation;
    const content = { ...requestBody.content, [form]: { ...given, schema: onlyRequired(given.schema) } };
    return { ...operation, requestBody: { ...requestBody, content } };
  };
  const items = Object.entries(paths).map(([path, item]) => [
    path,
    item.patch === undefined ? item : { ...item, patch: cut(item.patch) },
  ]);
  return { ...spec, paths: Object.fromEntries(items) };
}

/**
 * Parameters of JSON in the form in which Swagger UI gives room to write, and shows the schema beside it. The document has them as
 * text, for generators of clients.
 * @param {any} node
 * @returns {any}
 */
function withJsonFields(node) {
  if (Array.isArray(node)) return node.map(withJsonFields);
  if (typeof node !== "object" || node === null) return node;
  const { schema, example, ...others } = node;
  if (schema?.contentSchema !== undefined)
    return {
      ...others,
      content: { "application/json": { schema: schema.contentSchema, example: JSON.parse(example) } },
    };
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withJsonFields(value)]));
}

/** The address of whoever the page is shown to: null while that is nobody, undefined for visitors. */
let shown = null;
let asked = 0;
let answered = 0;

async function show() {
  asked += 1;
  const mine = asked;
  const email = await whoAmI();
  // Answers overtake each other: who it was before a sign-in, or a sign-out, is not who it is.
  if (mine < answered) return;
  answered = mine;
  if (email === shown) return;
  shown = email;
  byId("who").textContent =
    email === undefined ? "You see what visitors may do." : `Signed in as ${email}: you see what you may do.`;
  byId("sign-in").hidden = email !== undefined;
  byId("sign-out").hidden = email === undefined;
  const spec = await call("/openapi.json").catch((error) => {
    shown = null;
    throw error;
  });
  // Meanwhile it may be somebody else's.
  if (email !== shown) return;
  byId("problem").hidden = true;
  window.SwaggerUIBundle({
    spec: { ...withoutDepth(withoutFacts(withoutCookie(withJsonFields(spec)))), servers: [{ url: api }] },
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "none",
    tryItOutEnabled: true,
    validatorUrl: null,
    queryConfigEnabled: false,
    defaultModelsExpandDepth: 0,
  });
}

/** Runs an action, shows what one may do after it, and what went wrong. @param {() => Promise<unknown>} action */
async function attempt(action) {
  byId("problem").hidden = true;
  try {
    await action();
    await show();
  } catch (error) {
    byId("problem").textContent = error.message;
    byId("problem").hidden = false;
  }
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
  const body = JSON.stringify(Object.fromEntries(form));
  attempt(() => call("/login", { method: "POST", body, headers: { "Content-Type": "application/json" } }));
});
byId("sign-out").addEventListener("click", () => attempt(() => call("/logout", { method: "POST" })));
onReturn(show);
await attempt(async () => {});
