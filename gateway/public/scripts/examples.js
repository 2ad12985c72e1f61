// The example queries: one row each. `id` says where the id in an address comes from.

const HELLO = "Hello from the start page";

/** The newest post that the create example made. */
const OWN_POST = `/api/posts?filter={"title":{"_eq":"${HELLO}"}}&sort=-createdAt&fields=id&limit=1`;
const NEWEST_POST = `/api/posts?filter={"status":"published"}&sort=-publishedAt&fields=id&limit=1`;

function pretty(value) {
  return JSON.stringify(value, null, 2);
}

export const EXAMPLE_GROUPS = [
  {
    title: "List and filter",
    examples: [
      {
        name: "newest-posts",
        label: "Newest published posts",
        method: "GET",
        address: `/api/posts
  ?filter={"status":{"_eq":"published"}}
  &sort=-publishedAt
  &fields=title,publishedAt,author.name
  &limit=5`,
      },
      {
        name: "by-country",
        label: "Posts by authors in Japan",
        method: "GET",
        address: `/api/posts
  ?filter={"author":{"country":{"_eq":"Japan"}}}
  &fields=title,author.name
  &sort=title`,
      },
      {
        name: "to-many",
        label: "Authors with a much-liked comment",
        method: "GET",
        address: `/api/authors
  ?filter={"posts":{"comments":{"likes":{"_gte":28}}}}
  &fields=name,country`,
      },
      {
        name: "exclusion",
        label: "Every column but the body",
        method: "GET",
        address: `/api/posts
  ?fields=*,-body
  &limit=3`,
      },
      {
        name: "counts",
        label: "How many, with meta",
        method: "GET",
        address: `/api/posts
  ?filter={"tags":{"name":"cooking"}}
  &fields=title
  &meta=*
  &limit=3`,
      },
    ],
  },
  {
    title: "Sort and load relations",
    examples: [
      {
        name: "most-discussed",
        label: "Most discussed posts",
        method: "GET",
        address: `/api/posts
  ?sort=-_count(comments)
  &fields=title,author.name
  &limit=5`,
      },
      {
        name: "latest-comment",
        label: "Latest discussed posts",
        method: "GET",
        address: `/api/posts
  ?sort=-_max(comments.createdAt)
  &fields=title
  &limit=5`,
      },
      {
        name: "deep",
        label: "Three latest comments each",
        method: "GET",
        address: `/api/posts
  ?sort=-_count(comments)
  &fields=title
  &limit=3
  &deep={"comments":{"fields":"text,authorName,createdAt","sort":"-createdAt","limit":3}}`,
      },
      {
        name: "read-one",
        label: "Read one post",
        method: "GET",
        address: "/api/posts/{id}",
        id: NEWEST_POST,
      },
    ],
  },
  {
    title: "Write",
    examples: [
      {
        name: "create",
        label: "Create a post",
        method: "POST",
        address: "/api/posts",
        body: pretty({ title: HELLO, status: "draft", body: "Written in the browser, kept in MongoDB." }),
      },
      {
        name: "update",
        label: "Change that post",
        method: "PATCH",
        address: "/api/posts/{id}",
        body: pretty({ rating: 4.5, body: "Changed in the browser." }),
        id: OWN_POST,
        idMissing: "Run “Create a post” first, or put an id in place of {id}.",
      },
      {
        name: "delete",
        label: "Delete that post",
        method: "DELETE",
        address: "/api/posts/{id}",
        id: OWN_POST,
        idMissing: "Run “Create a post” first, or put an id in place of {id}.",
      },
      {
        name: "create-table",
        label: "Make a table of your own",
        method: "POST",
        address: "/api/svc_table",
        body: pretty({
          name: "notes",
          columns: [
            { name: "text", type: "text", required: true },
            { name: "done", type: "boolean", default: false },
          ],
        }),
      },
    ],
  },
  {
    title: "Yourself",
    examples: [{ name: "me", label: "Who am I", method: "GET", address: "/api/me" }],
  },
];

export const FIRST_EXAMPLE = EXAMPLE_GROUPS[0].examples[0];
