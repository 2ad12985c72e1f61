// The tours of README.md and docs/tour.md with a generated client: openapi-typescript's types, openapi-fetch's calls, and
// nothing untyped.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const { API = "", EMAIL = "", PASSWORD = "" } = process.env;

/** What came back; a refusal ends the tour. */
function ok<Data>({ data, error, response }: { data?: Data; error?: unknown; response: Response }): Data {
  if (data === undefined)
    throw new Error(`${response.url} answered ${response.status}: ${JSON.stringify(error)}`);
  return data;
}

const told: Record<string, unknown> = {};
const visitor = createClient<paths>({ baseUrl: API });

// Sign in
const signedIn = await visitor.POST("/login", { body: { email: EMAIL, password: PASSWORD } });
const cookies = signedIn.response.headers.getSetCookie().map((each) => each.split(";")[0]);
told.cookieSignIn = typeof ok(signedIn).expTime;
const withCookies = createClient<paths>({
  baseUrl: API,
  headers: { Cookie: cookies.join("; ") },
});
told.me = ok(await withCookies.GET("/me", { params: { query: { fields: "email,isRootAdmin" } } })).data;

const { refreshToken } = ok(
  await visitor.POST("/auth/login", { body: { email: EMAIL, password: PASSWORD } }),
);
const { accessToken } = ok(await visitor.POST("/auth/refresh-token", { body: { refreshToken } }));
const client = createClient<paths>({
  baseUrl: API,
  headers: { Authorization: `Bearer ${accessToken}` },
});

// Read and query
const titles = (data: components["schemas"]["posts.record"][]): (string | undefined)[] =>
  data.map(({ title }) => title);
const newest = await client.GET("/posts", {
  params: { query: { fields: "title,views", sort: "-publishedAt", limit: 2 } },
});
told.newest = titles(ok(newest).data);

// Parameters of JSON are text in an address; the document has their types.
type Schemas = components["schemas"];
const fromJapan: Schemas["posts.filter"] = { author: { country: { _eq: "Japan" } } };
const japanese = await client.GET("/posts", {
  params: { query: { fields: "title,author.name", limit: 2, filter: JSON.stringify(fromJapan) } },
});
told.authors = ok(japanese).data.map(({ author }) => author?.name);

const popular: Schemas["posts.filter"] = { comments: { likes: { _gte: 20 } }, status: "published" };
const liked = await client.GET("/posts", {
  params: { query: { fields: "title", limit: 2, filter: JSON.stringify(popular) } },
});
told.liked = titles(ok(liked).data);

const bread: Schemas["posts.filter"] = { title: { _contains: "bread" } };
const counted = await client.GET("/posts", {
  params: { query: { fields: "title", limit: 1, page: 2, meta: "*", filter: JSON.stringify(bread) } },
});
told.bread = ok(counted).meta;

const latest: Schemas["posts.deep"] = { comments: { fields: "authorName", sort: "-createdAt", limit: 2 } };
const deep = await client.GET("/posts", {
  params: { query: { fields: "title", limit: 1, deep: JSON.stringify(latest) } },
});
told.commenters = ok(deep).data[0]?.comments?.map(({ authorName }) => authorName);

const sums: Schemas["posts.aggregate"] = { views: { avg: true, max: true }, comments: { count: true } };
const summed = await client.GET("/posts", {
  params: { query: { fields: "id", limit: 1, aggregate: JSON.stringify(sums) } },
});
told.sums = ok(summed).meta?.aggregate;

// Make a table, and work with one
const made = await client.POST("/svc_table", {
  params: { query: { fields: "name" } },
  body: { name: "shelves", columns: [{ name: "room", type: "string", required: true }], relations: [] },
});
told.table = ok(made).data;

const [book] = ok(
  await client.POST("/books", {
    body: { title: "Bread at home", price: "19.90", author: "61e8b014acff7fb4f32baed4" },
  }),
).data;
const path = { id: book?.id ?? "" };
const readBook = await client.GET("/books/{id}", {
  params: { path, query: { fields: "title,author.name" } },
});
told.book = ok(readBook).data;
const changed = await client.PATCH("/books/{id}", {
  params: { path, query: { fields: "title,price" } },
  body: { price: "17.50" },
});
told.changed = ok(changed).data;

// @ts-expect-error a price is text, and a book has a title
const refused = await client.POST("/books", { body: { price: 17.5, format: "scroll" } });
told.violations = refused.error?.message;
told.code = refused.error?.error.code;

told.deleted = ok(await client.DELETE("/books/{id}", { params: { path } })).statusCode;
told.signedOut = ok(await withCookies.POST("/logout")).statusCode;

process.stdout.write(JSON.stringify(told));
