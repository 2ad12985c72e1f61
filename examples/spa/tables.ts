// The tables of this Portico as a root admin may use them.
// Made by GET /api/types.ts; make it again after a change of the tables (npm run types). A required column is never null,
// but in records older than that rule. Files are uploaded, so that their `create` is `never`.

export interface Tables {
  /** People who write posts. */
  authors: {
    record: {
      id: string;
      name: string;
      email: string | null;
      bio: string | null;
      country: string | null;
      /** Still writing. */
      active: boolean | null;
      bornOn: string | null;
      website: string | null;
      createdAt: string;
      updatedAt: string;
      posts?: Linked<"posts">[];
      _count?: { posts?: number };
    };
    create: {
      name: string;
      email?: string | null;
      bio?: string | null;
      country?: string | null;
      /** Still writing. */
      active?: boolean | null;
      bornOn?: string | null;
      website?: string | null;
      posts?: readonly (Link<string> | Omit<CreateOf<"posts">, "author">)[];
    };
    update: {
      name?: string;
      email?: string | null;
      bio?: string | null;
      country?: string | null;
      /** Still writing. */
      active?: boolean | null;
      bornOn?: string | null;
      website?: string | null;
      posts?: readonly (Link<string> | Omit<CreateOf<"posts">, "author">)[];
    };
    filter: {
      _and?: readonly FilterOf<"authors">[];
      _or?: readonly FilterOf<"authors">[];
      _not?: FilterOf<"authors">;
      id?: string | null | ObjectIdTests;
      name?: string | null | StringTests;
      email?: string | null | StringTests;
      bio?: string | null | TextTests;
      country?: string | null | StringTests;
      active?: boolean | null | BooleanTests;
      bornOn?: string | null | DateTests;
      website?: string | null | StringTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      posts?: Related<"posts">;
    };
  };
  /** What readers wrote under a post. */
  comments: {
    record: {
      id: string;
      text: string;
      authorName: string;
      approved: boolean | null;
      likes: number | null;
      createdAt: string;
      updatedAt: string;
      post: Linked<"posts"> | null;
    };
    create: {
      text: string;
      authorName: string;
      approved?: boolean | null;
      likes?: number | null;
      post: Link<string> | CreateOf<"posts">;
    };
    update: {
      text?: string;
      authorName?: string;
      approved?: boolean | null;
      likes?: number | null;
      post?: Link<string> | CreateOf<"posts">;
    };
    filter: {
      _and?: readonly FilterOf<"comments">[];
      _or?: readonly FilterOf<"comments">[];
      _not?: FilterOf<"comments">;
      id?: string | null | ObjectIdTests;
      text?: string | null | TextTests;
      authorName?: string | null | StringTests;
      approved?: boolean | null | BooleanTests;
      likes?: number | null | IntTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      post?: Related<"posts">;
    };
  };
  /** Articles, from first draft to archive. */
  posts: {
    record: {
      id: string;
      title: string;
      /** The title as it stands in an address. */
      slug: string | null;
      body: string | null;
      status: "draft" | "published" | "archived";
      views: number | null;
      /** Readers' mean, 0 to 5. */
      rating: number | null;
      /** Null while the post is a draft. */
      publishedAt: string | null;
      createdAt: string;
      updatedAt: string;
      author: Linked<"authors"> | null;
      tags?: Linked<"tags">[];
      comments?: Linked<"comments">[];
      _count?: { tags?: number; comments?: number };
    };
    create: {
      title: string;
      /** The title as it stands in an address. */
      slug?: string | null;
      body?: string | null;
      status?: "draft" | "published" | "archived";
      views?: number | null;
      /** Readers' mean, 0 to 5. */
      rating?: number | null;
      /** Null while the post is a draft. */
      publishedAt?: string | null;
      author?: Link<string> | CreateOf<"authors"> | null;
      tags?: readonly (Link<string> | CreateOf<"tags">)[];
      comments?: readonly (Link<string> | Omit<CreateOf<"comments">, "post">)[];
    };
    update: {
      title?: string;
      /** The title as it stands in an address. */
      slug?: string | null;
      body?: string | null;
      status?: "draft" | "published" | "archived";
      views?: number | null;
      /** Readers' mean, 0 to 5. */
      rating?: number | null;
      /** Null while the post is a draft. */
      publishedAt?: string | null;
      author?: Link<string> | CreateOf<"authors"> | null;
      tags?: readonly (Link<string> | CreateOf<"tags">)[];
      comments?: readonly (Link<string> | Omit<CreateOf<"comments">, "post">)[];
    };
    filter: {
      _and?: readonly FilterOf<"posts">[];
      _or?: readonly FilterOf<"posts">[];
      _not?: FilterOf<"posts">;
      id?: string | null | ObjectIdTests;
      title?: string | null | StringTests;
      slug?: string | null | StringTests;
      body?: string | null | TextTests;
      status?: "draft" | "published" | "archived" | null | EnumTests<"draft" | "published" | "archived">;
      views?: number | null | IntTests;
      rating?: number | null | FloatTests;
      publishedAt?: string | null | DatetimeTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      author?: Related<"authors">;
      tags?: Related<"tags">;
      comments?: Related<"comments">;
    };
  };
  svc_audit: {
    record: {
      id: string;
      event: string | null;
      userId: string | null;
      address: string | null;
      origin: string | null;
      userAgent: string | null;
      correlationId: string | null;
      details: Json | null;
      createdAt: string;
      updatedAt: string;
    };
    create: never;
    update: never;
    filter: {
      _and?: readonly FilterOf<"svc_audit">[];
      _or?: readonly FilterOf<"svc_audit">[];
      _not?: FilterOf<"svc_audit">;
      id?: string | null | ObjectIdTests;
      event?: string | null | StringTests;
      userId?: string | null | ObjectIdTests;
      address?: string | null | StringTests;
      origin?: string | null | StringTests;
      userAgent?: string | null | StringTests;
      correlationId?: string | null | StringTests;
      details?: null | JsonTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
    };
  };
  svc_file: {
    record: {
      id: string;
      filename: string;
      title: string | null;
      description: string | null;
      mimetype: string;
      filesize: number;
      width: number | null;
      height: number | null;
      isPublic: boolean;
      createdAt: string;
      updatedAt: string;
      folder: Linked<"svc_folder"> | null;
      uploadedBy: Linked<"svc_user"> | null;
    };
    create: never;
    update: {
      filename?: string;
      title?: string | null;
      description?: string | null;
      isPublic?: boolean;
      folder?: Link<string> | CreateOf<"svc_folder"> | null;
    };
    filter: {
      _and?: readonly FilterOf<"svc_file">[];
      _or?: readonly FilterOf<"svc_file">[];
      _not?: FilterOf<"svc_file">;
      id?: string | null | ObjectIdTests;
      filename?: string | null | StringTests;
      title?: string | null | StringTests;
      description?: string | null | TextTests;
      mimetype?: string | null | StringTests;
      filesize?: number | null | IntTests;
      width?: number | null | IntTests;
      height?: number | null | IntTests;
      isPublic?: boolean | null | BooleanTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      folder?: Related<"svc_folder">;
      uploadedBy?: Related<"svc_user">;
    };
  };
  svc_folder: {
    record: {
      id: string;
      name: string;
      slug: string;
      order: number;
      createdAt: string;
      updatedAt: string;
      parent: Linked<"svc_folder"> | null;
      files?: Linked<"svc_file">[];
      _count?: { files?: number };
    };
    create: {
      name: string;
      slug?: string;
      order?: number;
      parent?: Link<string> | CreateOf<"svc_folder"> | null;
      files?: readonly Link<string>[];
    };
    update: {
      name?: string;
      slug?: string;
      order?: number;
      parent?: Link<string> | CreateOf<"svc_folder"> | null;
      files?: readonly Link<string>[];
    };
    filter: {
      _and?: readonly FilterOf<"svc_folder">[];
      _or?: readonly FilterOf<"svc_folder">[];
      _not?: FilterOf<"svc_folder">;
      id?: string | null | ObjectIdTests;
      name?: string | null | StringTests;
      slug?: string | null | StringTests;
      order?: number | null | IntTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      parent?: Related<"svc_folder">;
      files?: Related<"svc_file">;
    };
  };
  svc_permission: {
    record: {
      id: string;
      table: string;
      action: "read" | "create" | "update" | "delete";
      filter: Json | null;
      fields: string | null;
      presets: Json | null;
      check: Json | null;
      isEnabled: boolean;
      description: string | null;
      createdAt: string;
      updatedAt: string;
      role: Linked<"svc_role"> | null;
    };
    create: {
      table: string;
      action: "read" | "create" | "update" | "delete";
      filter?: Json | null;
      fields?: string | null;
      presets?: Json | null;
      check?: Json | null;
      isEnabled?: boolean;
      description?: string | null;
      role: Link<string> | CreateOf<"svc_role"> | null;
    };
    update: {
      table?: string;
      action?: "read" | "create" | "update" | "delete";
      filter?: Json | null;
      fields?: string | null;
      presets?: Json | null;
      check?: Json | null;
      isEnabled?: boolean;
      description?: string | null;
      role?: Link<string> | null;
    };
    filter: {
      _and?: readonly FilterOf<"svc_permission">[];
      _or?: readonly FilterOf<"svc_permission">[];
      _not?: FilterOf<"svc_permission">;
      id?: string | null | ObjectIdTests;
      table?: string | null | StringTests;
      action?: "read" | "create" | "update" | "delete" | null | EnumTests<"read" | "create" | "update" | "delete">;
      filter?: null | JsonTests;
      fields?: string | null | TextTests;
      presets?: null | JsonTests;
      check?: null | JsonTests;
      isEnabled?: boolean | null | BooleanTests;
      description?: string | null | TextTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      role?: Related<"svc_role">;
    };
  };
  svc_role: {
    record: {
      id: string;
      name: string;
      description: string | null;
      createdAt: string;
      updatedAt: string;
    };
    create: {
      name: string;
      description?: string | null;
    };
    update: {
      name?: string;
      description?: string | null;
    };
    filter: {
      _and?: readonly FilterOf<"svc_role">[];
      _or?: readonly FilterOf<"svc_role">[];
      _not?: FilterOf<"svc_role">;
      id?: string | null | ObjectIdTests;
      name?: string | null | StringTests;
      description?: string | null | TextTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
    };
  };
  /** Source and compiled code of handlers, by route and method: stored and served, never executed. */
  svc_route_handler: {
    record: {
      id: string;
      route: string;
      method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "QUERY";
      sourceCode: string | null;
      compiledCode: string | null;
      /** In milliseconds. */
      timeout: number | null;
      isEnabled: boolean;
      createdAt: string;
      updatedAt: string;
    };
    create: {
      route: string;
      method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "QUERY";
      sourceCode?: string | null;
      compiledCode?: string | null;
      /** In milliseconds. */
      timeout?: number | null;
      isEnabled?: boolean;
    };
    update: {
      route?: string;
      method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "QUERY";
      sourceCode?: string | null;
      compiledCode?: string | null;
      /** In milliseconds. */
      timeout?: number | null;
      isEnabled?: boolean;
    };
    filter: {
      _and?: readonly FilterOf<"svc_route_handler">[];
      _or?: readonly FilterOf<"svc_route_handler">[];
      _not?: FilterOf<"svc_route_handler">;
      id?: string | null | ObjectIdTests;
      route?: string | null | StringTests;
      method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "QUERY" | null | EnumTests<"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "QUERY">;
      sourceCode?: string | null | TextTests;
      compiledCode?: string | null | TextTests;
      timeout?: number | null | IntTests;
      isEnabled?: boolean | null | BooleanTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
    };
  };
  svc_table: {
    record: {
      id: string;
      name: string;
      description: string | null;
      singleton: boolean | null;
      changes: boolean | null;
      history: boolean | null;
      softDelete: boolean | null;
      shardKey: "id" | null;
      idType: "objectId" | "uuid" | "int" | "string" | "mixed" | null;
      columns: Json | null;
      relations: Json | null;
      uniques: Json | null;
      indexes: Json | null;
      change: Json | null;
      createdAt: string;
      updatedAt: string;
    };
    create: {
      name: string;
      description?: string | null;
      singleton?: boolean | null;
      changes?: boolean | null;
      history?: boolean | null;
      softDelete?: boolean | null;
      shardKey?: "id" | null;
      idType?: "objectId" | "uuid" | "int" | "string" | "mixed" | null;
      columns?: Json | null;
      relations?: Json | null;
      uniques?: Json | null;
      indexes?: Json | null;
    };
    update: {
      name?: string;
      description?: string | null;
      singleton?: boolean | null;
      changes?: boolean | null;
      history?: boolean | null;
      softDelete?: boolean | null;
      shardKey?: "id" | null;
      idType?: "objectId" | "uuid" | "int" | "string" | "mixed" | null;
      columns?: Json | null;
      relations?: Json | null;
      uniques?: Json | null;
      indexes?: Json | null;
    };
    filter: {
      _and?: readonly FilterOf<"svc_table">[];
      _or?: readonly FilterOf<"svc_table">[];
      _not?: FilterOf<"svc_table">;
      id?: string | null | ObjectIdTests;
      name?: string | null | StringTests;
      description?: string | null | TextTests;
      singleton?: boolean | null | BooleanTests;
      changes?: boolean | null | BooleanTests;
      history?: boolean | null | BooleanTests;
      softDelete?: boolean | null | BooleanTests;
      shardKey?: "id" | null | EnumTests<"id">;
      idType?: "objectId" | "uuid" | "int" | "string" | "mixed" | null | EnumTests<"objectId" | "uuid" | "int" | "string" | "mixed">;
      columns?: null | JsonTests;
      relations?: null | JsonTests;
      uniques?: null | JsonTests;
      indexes?: null | JsonTests;
      change?: null | JsonTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
    };
  };
  svc_user: {
    record: {
      id: string;
      email: string;
      name: string | null;
      isActive: boolean;
      isRootAdmin: boolean;
      createdAt: string;
      updatedAt: string;
      role: Linked<"svc_role"> | null;
    };
    create: {
      email: string;
      password?: string | null;
      name?: string | null;
      isActive?: boolean;
      isRootAdmin?: boolean;
      role?: Link<string> | CreateOf<"svc_role"> | null;
    };
    update: {
      email?: string;
      password?: string | null;
      name?: string | null;
      isActive?: boolean;
      isRootAdmin?: boolean;
      role?: Link<string> | CreateOf<"svc_role"> | null;
    };
    filter: {
      _and?: readonly FilterOf<"svc_user">[];
      _or?: readonly FilterOf<"svc_user">[];
      _not?: FilterOf<"svc_user">;
      id?: string | null | ObjectIdTests;
      email?: string | null | StringTests;
      name?: string | null | StringTests;
      isActive?: boolean | null | BooleanTests;
      isRootAdmin?: boolean | null | BooleanTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      role?: Related<"svc_role">;
    };
  };
  /** Words that posts are filed under. */
  tags: {
    record: {
      id: string;
      name: string;
      /** As in CSS, for example #b4532a. */
      color: string | null;
      createdAt: string;
      updatedAt: string;
      posts?: Linked<"posts">[];
      _count?: { posts?: number };
    };
    create: {
      name: string;
      /** As in CSS, for example #b4532a. */
      color?: string | null;
      posts?: readonly (Link<string> | Omit<CreateOf<"posts">, "tags">)[];
    };
    update: {
      name?: string;
      /** As in CSS, for example #b4532a. */
      color?: string | null;
      posts?: readonly (Link<string> | Omit<CreateOf<"posts">, "tags">)[];
    };
    filter: {
      _and?: readonly FilterOf<"tags">[];
      _or?: readonly FilterOf<"tags">[];
      _not?: FilterOf<"tags">;
      id?: string | null | ObjectIdTests;
      name?: string | null | StringTests;
      color?: string | null | StringTests;
      createdAt?: string | null | DatetimeTests;
      updatedAt?: string | null | DatetimeTests;
      posts?: Related<"posts">;
    };
  };
}

export interface Me {
  id: string;
  email: string;
  name: string | null;
  isActive: boolean;
  isRootAdmin: boolean;
  createdAt: string;
  updatedAt: string;
  role: PartOf<MyRole> | null;
}

export interface MyRole {
  id: string;
  name: string;
  description: string | null;
  createdAt: string;
  updatedAt: string;
}

export type TableName = keyof Tables;
export type RecordOf<Name extends TableName> = Tables[Name]["record"];
export type CreateOf<Name extends TableName> = Tables[Name]["create"];
export type UpdateOf<Name extends TableName> = Tables[Name]["update"];
export type FilterOf<Name extends TableName> = Tables[Name]["filter"];

/** A related record: its id, and whatever `fields` and `deep` asked for. */
export type Linked<Name extends TableName> = PartOf<RecordOf<Name>>;
export type PartOf<Whole extends { id: unknown }> = Pick<Whole, "id"> & Partial<Whole>;

/** How a body names a record. */
export type Link<Id> = Id | { id: Id };

/** What a filter says of a relation: the id, null for none, or what a related record must satisfy. */
export type Related<Name extends TableName> =
  | RecordOf<Name>["id"]
  | null
  | (FilterOf<Name> & LinkTests<RecordOf<Name>["id"]>);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface StringTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _contains?: string;
  _icontains?: string;
  _starts_with?: string;
  _ends_with?: string;
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface TextTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _contains?: string;
  _icontains?: string;
  _starts_with?: string;
  _ends_with?: string;
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface IntTests {
  _eq?: number | null;
  _neq?: number | null;
  _gt?: number;
  _gte?: number;
  _lt?: number;
  _lte?: number;
  _in?: readonly number[];
  _not_in?: readonly number[];
  _nin?: readonly number[];
  _between?: readonly [number, number];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface BigintTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface FloatTests {
  _eq?: number | null;
  _neq?: number | null;
  _gt?: number;
  _gte?: number;
  _lt?: number;
  _lte?: number;
  _in?: readonly number[];
  _not_in?: readonly number[];
  _nin?: readonly number[];
  _between?: readonly [number, number];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface DecimalTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface BooleanTests {
  _eq?: boolean | null;
  _neq?: boolean | null;
  _in?: readonly boolean[];
  _not_in?: readonly boolean[];
  _nin?: readonly boolean[];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface DateTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface DatetimeTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface EnumTests<Value> {
  _eq?: Value | null;
  _neq?: Value | null;
  _gt?: Value;
  _gte?: Value;
  _lt?: Value;
  _lte?: Value;
  _in?: readonly Value[];
  _not_in?: readonly Value[];
  _nin?: readonly Value[];
  _between?: readonly [Value, Value];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface EnumListTests<Value> {
  _eq?: null;
  _neq?: null;
  _contains?: Value;
  _icontains?: Value;
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface JsonTests {
  _eq?: null;
  _neq?: null;
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface UuidTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface ObjectIdTests {
  _eq?: string | null;
  _neq?: string | null;
  _gt?: string;
  _gte?: string;
  _lt?: string;
  _lte?: string;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _between?: readonly [string, string];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface MixedTests {
  _eq?: string | null;
  _neq?: string | null;
  _in?: readonly string[];
  _not_in?: readonly string[];
  _nin?: readonly string[];
  _is_null?: boolean;
  _is_not_null?: boolean;
}

export interface LinkTests<Value> {
  _eq?: Value | null;
  _neq?: Value | null;
  _in?: readonly Value[];
  _not_in?: readonly Value[];
  _nin?: readonly Value[];
  _is_null?: boolean;
  _is_not_null?: boolean;
}
