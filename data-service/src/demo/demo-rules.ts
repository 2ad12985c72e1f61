// Who may do what with the demo content: everyone reads what is published and may comment, editors do everything.
import type { Action } from "../permission/rule.js";
import type { Document } from "../query/lower/document.js";

/** A rule of the demo; `role` is null for everyone. */
export interface DemoRule {
  readonly role: "Editor" | null;
  readonly table: string;
  readonly action: Action;
  readonly description: string;
  readonly filter?: Document;
  readonly fields?: string;
  readonly presets?: Document;
  readonly check?: Document;
}

export const DEMO_ROLES = [
  { name: "Editor", description: "Writes and changes everything in the demo." },
] as const;

const PUBLISHED: Document = { status: "published" };

const everyone: readonly DemoRule[] = [
  {
    role: null,
    table: "authors",
    action: "read",
    fields: "*,-email",
    description: "Authors, without addresses.",
  },
  { role: null, table: "tags", action: "read", description: "All tags." },
  { role: null, table: "posts", action: "read", filter: PUBLISHED, description: "Published posts." },
  {
    role: null,
    table: "comments",
    action: "read",
    filter: { approved: true, post: PUBLISHED },
    description: "Approved comments of published posts.",
  },
  {
    role: null,
    table: "comments",
    action: "create",
    fields: "text,authorName,post",
    presets: { approved: false },
    check: { post: PUBLISHED },
    description: "Comments on published posts, which an editor has to approve.",
  },
];

const ACTIONS: readonly Action[] = ["read", "create", "update", "delete"];

const editors = ["authors", "tags", "posts", "comments"].flatMap((table) =>
  ACTIONS.map(
    (action): DemoRule => ({ role: "Editor", table, action, description: `Editors ${action} ${table}.` }),
  ),
);

export const demoRules: readonly DemoRule[] = [...everyone, ...editors];
