// The demo content is the same on every run, complete, and free of ties and dangling links.
import { describe, expect, test } from "@jest/globals";
import { type DemoRecord, demoRecords } from "./demo-records.js";
import { demoTables } from "./demo-tables.js";

const records = [...demoRecords()];
const table = (name: string): DemoRecord[] => records.filter((record) => record.table === name);
const linkedKeys = (link: string | readonly string[] | null): readonly string[] =>
  link === null ? [] : typeof link === "string" ? [link] : link;

describe("demo records", () => {
  test("are the same on every run", () => {
    expect([...demoRecords()]).toEqual(records);
  });

  test("are 60 authors, 24 tags, 800 posts and 2,400 comments", () => {
    const counts = Object.fromEntries(demoTables.map(({ name }) => [name, table(name).length]));
    expect(counts).toEqual({ authors: 60, tags: 24, posts: 800, comments: 2_400 });
  });

  test("have keys of their own, which begin with the table's name", () => {
    expect(new Set(records.map(({ key }) => key)).size).toBe(records.length);
    expect(records.filter(({ table, key }) => !key.startsWith(`${table}/`))).toEqual([]);
  });

  test("come after every record they link to", () => {
    const seen = new Set<string>();
    const early: string[] = [];
    for (const { key, links } of records) {
      const linked = Object.values(links).flatMap(linkedKeys);
      if (!linked.every((other) => seen.has(other))) early.push(key);
      seen.add(key);
    }
    expect(early).toEqual([]);
  });

  test.each(demoTables)("of $name carry exactly the table's columns and relations", (definition) => {
    const columns = definition.columns.map(({ name }) => name).sort();
    const relations = definition.relations.map(({ name }) => name).sort();
    for (const { values, links } of table(definition.name)) {
      expect(Object.keys(values).sort()).toEqual(columns);
      expect(Object.keys(links).sort()).toEqual(relations);
    }
  });

  test.each(demoTables)("of $name keep the column rules", (definition) => {
    const violations: string[] = [];
    for (const column of definition.columns) {
      const seen = new Set<unknown>();
      for (const { key, values } of table(definition.name)) {
        const value = values[column.name] ?? null;
        const note = (reason: string) => violations.push(`${key} ${column.name}: ${reason}`);
        if (value === null) {
          if (column.required === true) note("missing");
          continue;
        }
        if (column.unique === true && seen.has(value)) note("not unique");
        seen.add(value);
        if (column.options !== undefined && !column.options.values.some((member) => member === value)) {
          note("not a member");
        }
        if (column.type === "int" && !Number.isInteger(value)) note("not a whole number");
        if (column.rules?.min !== undefined && Number(value) < column.rules.min) note("too small");
        if (column.rules?.max !== undefined && Number(value) > column.rules.max) note("too large");
        if (column.type === "datetime" && new Date(String(value)).toISOString() !== value) note("not a time");
        if (column.type === "date" && !/^\d{4}-\d{2}-\d{2}$/.test(String(value))) note("not a day");
        if (/\{\w*\}|undefined|NaN/.test(String(value))) note("unfinished text");
      }
    }
    expect(violations).toEqual([]);
  });

  test.each(demoTables)("of $name are created one after the other, never at the same moment", ({ name }) => {
    const times = table(name).map(({ createdAt }) => createdAt);
    expect(times.filter((time, place) => place > 0 && time <= (times[place - 1] ?? ""))).toEqual([]);
  });

  test("publish no two posts at the same moment, and drafts not at all", () => {
    const posts = table("posts").map(({ values }) => values);
    const times = posts.flatMap(({ publishedAt }) => (publishedAt === null ? [] : [publishedAt]));
    expect(new Set(times).size).toBe(times.length);
    for (const { status, publishedAt } of posts) expect(publishedAt === null).toBe(status === "draft");
    expect(times.length).toBeGreaterThan(600);
    expect(times.length).toBeLessThan(800);
  });

  test("comment on posts only after they came out", () => {
    const publishedAt = new Map(table("posts").map(({ key, values }) => [key, String(values.publishedAt)]));
    const early = table("comments").filter(({ createdAt, links }) => {
      const published = publishedAt.get(String(links.post));
      return published === undefined || published === "null" || createdAt <= published;
    });
    expect(early).toEqual([]);
  });

  test("are uneven: a few posts are much discussed, many not at all, some have no author", () => {
    const counts = new Map(table("posts").map(({ key }) => [key, 0]));
    for (const { links } of table("comments")) {
      counts.set(String(links.post), (counts.get(String(links.post)) ?? 0) + 1);
    }
    const sorted = [...counts.values()].sort((left, right) => right - left);
    expect(new Set(sorted.slice(0, 6)).size).toBe(6);
    expect(sorted[0]).toBeGreaterThan(60);
    expect(sorted.filter((count) => count === 0).length).toBeGreaterThan(200);
    const withoutAuthor = table("posts").filter(({ links }) => links.author === null).length;
    expect(withoutAuthor).toBeGreaterThan(15);
    expect(withoutAuthor).toBeLessThan(80);
  });

  test("do not look into the future", () => {
    expect(records.filter(({ createdAt }) => createdAt > "2025-07-01")).toEqual([]);
  });
});
