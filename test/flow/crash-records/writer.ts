// One of those who write while processes die: it knows what it was answered, and what must be true afterwards.
import { randomUUID } from "node:crypto";
import type { Row } from "../../contract/records/make.js";
import { type Answer, type Api, search } from "../../support/api.js";
import { fileForm } from "../../support/files.js";
import { KEYS } from "./tables.js";

/** Small steps of a fixed sequence, so that a failing seed can be run again. */
export type Dice = (sides: number) => number;

export function dice(seed: number): Dice {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return (sides) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** A record that a writer has made and nobody else deletes. */
interface Own {
  readonly table: string;
  readonly key: string;
  id: unknown;
  /** The key of the own record that takes it along when it is deleted. */
  under: string | undefined;
}

/** Records that everybody links to and anybody deletes. */
export interface Shared {
  readonly authors: Map<string, unknown>;
  readonly tags: Map<string, unknown>;
}

/** One request: what it makes, what it removes, and what else is so once it was answered. */
interface Deed {
  readonly what: string;
  readonly adds: readonly Omit<Own, "id">[];
  readonly removes: readonly string[];
  readonly send: (api: Api) => Promise<Answer>;
  readonly done?: () => void;
  /** Sent again it does the same, and nothing twice. */
  readonly repeatable: boolean;
}

/** What is in the database: how often each key, by table. */
export type Present = ReadonlyMap<string, ReadonlyMap<string, number>>;

const REFUSED_OR_DONE = (status: number): boolean => status < 500 && status !== 429;

export class Writer {
  readonly #name: string;
  readonly #roll: Dice;
  readonly #shared: Shared;
  readonly #own = new Map<string, Own>();
  readonly #gone = new Map<string, string>();
  #open: Deed | undefined;
  #count = 0;
  /** Requests that were answered with success, and those nobody knows of, by kind. */
  readonly answered = new Map<string, number>();
  readonly cutOff = new Map<string, number>();

  constructor(name: string, seed: number, shared: Shared) {
    this.#name = name;
    this.#roll = dice(seed);
    this.#shared = shared;
  }

  /** Sends one request after the other until one is not answered, or nobody wants more. */
  async run(api: Api, mayGoOn: () => boolean, answered: () => void): Promise<void> {
    while (mayGoOn() && this.#open === undefined) {
      const deed = this.#choose();
      this.#open = deed;
      const answer = await deed.send(api).catch(() => undefined);
      if (answer === undefined || !REFUSED_OR_DONE(answer.status)) {
        this.cutOff.set(deed.what, (this.cutOff.get(deed.what) ?? 0) + 1);
        return;
      }
      this.#open = undefined;
      if (answer.status >= 300) continue;
      this.#settle(deed, answer.body);
      answered();
    }
  }

  /** Finds out about the request that was not answered. @returns what is wrong with what it has left */
  async resolve(api: Api, present: Present): Promise<string[]> {
    const deed = this.#open;
    this.#open = undefined;
    if (deed === undefined) return [];
    const problems = [
      ...half(
        "made",
        deed,
        deed.adds.map(({ table, key }) => countOf(present, table, key)),
      ),
      ...half(
        "removed",
        deed,
        deed.removes.map((key) => countOf(present, this.#tableOf(key), key)),
      ),
    ];
    const isMade = deed.adds.some(({ table, key }) => countOf(present, table, key) > 0);
    if (!deed.repeatable && isMade) {
      this.#settle(deed, undefined);
      return problems;
    }
    if (!deed.repeatable && deed.adds.length > 0) return problems;
    const answer = await deed.send(api);
    // A delete that was done finds nothing; a link may lead to what somebody has deleted since.
    if (answer.status < 300 || (answer.status === 404 && deed.removes.length > 0))
      this.#settle(deed, answer.status === 404 ? undefined : answer.body);
    else if (answer.status >= 500 || (isMade && deed.adds.length > 0))
      problems.push(`${deed.what}, sent again, was answered ${answer.status}: ${answer.body?.message}`);
    return problems;
  }

  /** What of all that was answered is not so. */
  check(present: Present): string[] {
    const there = [...this.#own.values()].map(({ table, key }) => {
      const count = countOf(present, table, key);
      return count === 1 ? undefined : `${table} ${key} is there ${count} times`;
    });
    const gone = [...this.#gone].map(([key, table]) =>
      countOf(present, table, key) === 0 ? undefined : `${table} ${key} was deleted and is there`,
    );
    return [...there, ...gone].filter((problem) => problem !== undefined);
  }

  #tableOf(key: string): string {
    return this.#own.get(key)?.table ?? "";
  }

  #settle(deed: Deed, body: Row): void {
    const ids = idsIn(body?.data ?? []);
    for (const each of deed.adds) this.#own.set(each.key, { ...each, id: ids.get(each.key) });
    for (const key of deed.removes) {
      const own = this.#own.get(key);
      if (own !== undefined) this.#gone.set(key, own.table);
      this.#own.delete(key);
    }
    deed.done?.();
    this.answered.set(deed.what, (this.answered.get(deed.what) ?? 0) + 1);
  }

  #choose(): Deed {
    const kinds = [
      ...[() => this.#newShelf(), () => this.#newShelf(), () => this.#newBook(), () => this.#newBook()],
      ...[() => this.#list(), () => this.#morePages(), () => this.#morePages(), () => this.#replaceTags()],
      ...[
        () => this.#replaceBooks(),
        () => this.#moveBook(),
        () => this.#linkBook(),
        () => this.#newShared(),
      ],
      ...[() => this.#deleteShared(), () => this.#deleteShared(), () => this.#setBooksOfTag()],
      ...[() => this.#deleteOwn("shelves"), () => this.#deleteOwn("books"), () => this.#deleteOwn("pages")],
      ...[() => this.#deleteOwn("authors"), () => this.#upload(), () => this.#upload()],
      ...[() => this.#replaceFile(), () => this.#deleteOwn("svc_file")],
    ];
    return kinds[this.#roll(kinds.length)]?.() ?? this.#newShelf();
  }

  #key(): string {
    this.#count += 1;
    return `${this.#name}.${this.#count}`;
  }

  #some<Value>(values: readonly Value[]): Value | undefined {
    return values[this.#roll(Math.max(1, values.length))];
  }

  #few<Value>(values: readonly Value[], most: number): Value[] {
    const chosen = new Set(Array.from({ length: this.#roll(most + 1) }, () => this.#some(values)));
    return [...chosen].filter((value): value is Value & {} => value !== undefined);
  }

  #mine(table: string): Own[] {
    return [...this.#own.values()].filter((own) => own.table === table && own.id !== undefined);
  }

  #below(key: string): string[] {
    const children = [...this.#own.values()].filter(({ under }) => under === key).map((own) => own.key);
    return [key, ...children.flatMap((child) => this.#below(child))];
  }

  #noteBody(adds: Omit<Own, "id">[], under: string | undefined): Row {
    const key = this.#key();
    adds.push({ table: "notes", key, under });
    return { key, reader: this.#some([...this.#shared.authors.values(), null]) ?? null };
  }

  #pageBody(adds: Omit<Own, "id">[], under: string): Row {
    const key = this.#key();
    adds.push({ table: "pages", key, under });
    return { key, notes: Array.from({ length: this.#roll(3) }, () => this.#noteBody(adds, key)) };
  }

  #bookBody(adds: Omit<Own, "id">[], under: string | undefined): Row {
    const [key, authorKey] = [this.#key(), this.#key()];
    const shared = this.#some([...this.#shared.authors.values()]);
    const isOwn = this.#roll(2) === 0 || shared === undefined;
    if (isOwn) adds.push({ table: "authors", key: authorKey, under: undefined });
    adds.push({ table: "books", key, under });
    const tagKey = this.#key();
    adds.push({ table: "tags", key: tagKey, under: undefined });
    return {
      key,
      author: isOwn ? { key: authorKey } : shared,
      tags: [...this.#few([...this.#shared.tags.values()], 2), { key: tagKey }],
      pages: Array.from({ length: 1 + this.#roll(2) }, () => this.#pageBody(adds, key)),
    };
  }

  /** A create, half of them with a key. */
  #create(
    what: string,
    table: string,
    body: unknown,
    adds: readonly Omit<Own, "id">[],
    fields: string,
  ): Deed {
    const isKeyed = this.#roll(2) === 0;
    const headers = {
      "Content-Type": "application/json",
      ...(isKeyed ? { "Idempotency-Key": randomUUID() } : {}),
    };
    return {
      what: isKeyed ? `${what}, with a key,` : what,
      adds,
      removes: [],
      repeatable: isKeyed,
      send: (api) =>
        api.send("POST", `/${table}${search({ fields })}`, { body: JSON.stringify(body), headers }),
    };
  }

  #newShelf(): Deed {
    const adds: Omit<Own, "id">[] = [];
    const key = this.#key();
    adds.push({ table: "shelves", key, under: undefined });
    const books = Array.from({ length: 1 + this.#roll(2) }, () => this.#bookBody(adds, key));
    const inside = BOOK_FIELDS.split(",").map((field) => `books.${field}`);
    return this.#create("a shelf of books", "shelves", { key, books }, adds, ["id,key", ...inside].join());
  }

  #newBook(): Deed {
    const adds: Omit<Own, "id">[] = [];
    const shelf = this.#some(this.#mine("shelves"));
    const body = { ...this.#bookBody(adds, shelf?.key), shelf: shelf?.id ?? null };
    return this.#create("a book with pages", "books", body, adds, BOOK_FIELDS);
  }

  #list(): Deed {
    const page = this.#some(this.#mine("pages"));
    const adds: Omit<Own, "id">[] = [];
    const notes = Array.from({ length: 2 + this.#roll(20) }, () => ({
      ...this.#noteBody(adds, page?.key),
      page: page?.id ?? null,
    }));
    return this.#create("a list of notes", "notes", notes, adds, "id,key");
  }

  #patch(what: string, path: string, body: unknown, rest: Partial<Deed> = {}, fields = "id"): Deed {
    return {
      what,
      adds: [],
      removes: [],
      repeatable: true,
      send: (api) => api.patch(path, body, { fields }),
      ...rest,
    };
  }

  #morePages(): Deed {
    const book = this.#some(this.#mine("books"));
    if (book === undefined) return this.#newBook();
    const adds: Omit<Own, "id">[] = [];
    const pages = this.#mine("pages").filter(({ under }) => under === book.key);
    // The others would be let go of, which a page does not allow.
    const all = [...this.#own.values()].filter(({ table, under }) => table === "pages" && under === book.key);
    if (pages.length < all.length) return this.#newBook();
    const more = [this.#pageBody(adds, book.key), this.#pageBody(adds, book.key)];
    const body = { pages: [...pages.map(({ id }) => id), ...more] };
    const rest = { adds, repeatable: false };
    return this.#patch("a change with new pages", `/books/${book.id}`, body, rest, BOOK_FIELDS);
  }

  #replaceTags(): Deed {
    const book = this.#some(this.#mine("books"));
    if (book === undefined) return this.#newBook();
    const tags = this.#few([...this.#shared.tags.values()], 4);
    return this.#patch("a set of tags", `/books/${book.id}`, { tags });
  }

  #setBooksOfTag(): Deed {
    const tag = this.#some([...this.#shared.tags.values()]);
    if (tag === undefined) return this.#newShared();
    const books = this.#few(this.#mine("books"), 4).map(({ id }) => id);
    return this.#patch("a set of books of a tag", `/tags/${tag}`, { books });
  }

  #replaceBooks(): Deed {
    const shelf = this.#some(this.#mine("shelves"));
    if (shelf === undefined) return this.#newShelf();
    const chosen = this.#few(this.#mine("books"), 4);
    const done = (): void => {
      for (const own of this.#own.values())
        if (own.table === "books" && own.under === shelf.key) own.under = undefined;
      for (const { key } of chosen) {
        const own = this.#own.get(key);
        if (own !== undefined) own.under = shelf.key;
      }
    };
    const body = { books: chosen.map(({ id }) => id) };
    return this.#patch("a set of books of a shelf", `/shelves/${shelf.id}`, body, { done });
  }

  #moveBook(): Deed {
    const book = this.#some(this.#mine("books"));
    const shelf = this.#some([...this.#mine("shelves"), undefined]);
    if (book === undefined) return this.#newBook();
    const done = (): void => {
      const own = this.#own.get(book.key);
      if (own !== undefined) own.under = shelf?.key;
    };
    return this.#patch("a move of a book", `/books/${book.id}`, { shelf: shelf?.id ?? null }, { done });
  }

  #linkBook(): Deed {
    const [book, other] = [this.#some(this.#mine("books")), this.#some(this.#mine("books"))];
    if (book === undefined) return this.#newBook();
    const body = {
      sequelOf: other?.id ?? null,
      cover: this.#some(this.#mine("svc_file"))?.id ?? null,
      author: this.#some([...this.#shared.authors.values(), null]) ?? null,
    };
    return this.#patch("links of a book", `/books/${book.id}`, body);
  }

  #newShared(): Deed {
    const table = this.#roll(2) === 0 ? "authors" : "tags";
    const key = this.#key();
    return {
      what: "a shared record",
      adds: [],
      removes: [],
      repeatable: false,
      send: async (api) => {
        const answer = await api.post(`/${table}`, { key }, { fields: "id" });
        if (answer.status === 201) this.#shared[table].set(key, answer.body.data[0].id);
        return answer;
      },
    };
  }

  #deleteShared(): Deed {
    const table = this.#roll(2) === 0 ? "authors" : "tags";
    const [key, id] = this.#some([...this.#shared[table]]) ?? [];
    if (key === undefined) return this.#newShared();
    return {
      what: "a delete of a shared record",
      adds: [],
      removes: [],
      repeatable: true,
      send: async (api) => {
        const answer = await api.delete(`/${table}/${id}`);
        if (answer.status === 200 || answer.status === 404) this.#shared[table].delete(key);
        return answer;
      },
    };
  }

  #deleteOwn(table: string): Deed {
    const own = this.#some(this.#mine(table));
    if (own === undefined) return table === "svc_file" ? this.#upload() : this.#newShelf();
    return {
      what: `a delete from ${table}`,
      adds: [],
      removes: this.#below(own.key),
      repeatable: true,
      send: (api) => api.delete(`/${table}/${own.id}`),
    };
  }

  #bytes(): Buffer {
    return Buffer.alloc(1_000 + this.#roll(400_000), this.#roll(256));
  }

  #upload(): Deed {
    const key = this.#key();
    const adds = [{ table: "svc_file", key, under: undefined }];
    const bytes = this.#bytes();
    return {
      what: "an upload",
      adds,
      removes: [],
      repeatable: false,
      send: (api) => api.send("POST", "/svc_file", { body: fileForm(bytes, key) }),
    };
  }

  #replaceFile(): Deed {
    const file = this.#some(this.#mine("svc_file"));
    if (file === undefined) return this.#upload();
    const bytes = this.#bytes();
    return {
      what: "a new content",
      adds: [],
      removes: [],
      repeatable: true,
      send: (api) => api.send("PATCH", `/svc_file/${file.id}`, { body: fileForm(bytes, file.key) }),
    };
  }
}

const BOOK_FIELDS =
  "id,key,author.id,author.key,tags.id,tags.key,pages.id,pages.key,pages.notes.id,pages.notes.key";

/** All or none: anything between is a request that was done in half. */
function half(how: string, { what, adds, removes }: Deed, counts: readonly number[]): string[] {
  const there = counts.filter((count) => count > 0).length;
  if (there === 0 || there === counts.length) return [];
  const keys = (how === "made" ? adds.map(({ table, key }) => `${table} ${key}`) : removes).map(
    (key, at) => `${key}: ${counts[at]}`,
  );
  return [`${what} was ${how} in half: ${keys.join(", ")}`];
}

function countOf(present: Present, table: string, key: string): number {
  return present.get(table)?.get(key) ?? 0;
}

/** The ids of all records in an answer, by key. */
function idsIn(rows: readonly Row[]): Map<string, unknown> {
  const ids = new Map<string, unknown>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    else if (typeof value === "object" && value !== null) {
      const row: Row = value;
      const key = Object.values(KEYS)
        .map((name) => row[name])
        .find((name) => typeof name === "string");
      if (key !== undefined) ids.set(key, row.id);
      for (const each of Object.values(row)) visit(each);
    }
  };
  visit(rows);
  return ids;
}
