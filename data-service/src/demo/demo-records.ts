// The records of the demo content: a few thousand, the same on every run, each after the records it links to.
import { readerName, WRITERS, type Writer } from "./demo-people.js";
import { CLOSING_REMARKS, GENERAL_REMARKS, OPENING_REMARKS } from "./demo-remarks.js";
import type { JsonValue } from "./demo-tables.js";
import { GENERAL_TAGS, TAG_COLORS, TOPICS } from "./demo-topics.js";
import { createSeededRandom, type SeededRandom } from "./seeded-random.js";
import type { Subject, Topic } from "./topics/topic.js";

export interface DemoRecord {
  readonly table: string;
  /** Names the record for good, for example `authors/ada-okafor`. */
  readonly key: string;
  /** Later than that of every earlier record of the same table. */
  readonly createdAt: string;
  readonly values: Readonly<Record<string, JsonValue>>;
  /** By relation: the key of the linked record, null for none, or a list of keys. */
  readonly links: Readonly<Record<string, string | readonly string[] | null>>;
}

const SEED = 20_250_630;
const POST_COUNT = 800;
const COMMENT_COUNT = 2_400;
/** Comments under the most discussed post; the others fall off from there. */
const MOST_COMMENTS = 96;
const COMMENT_FALL_OFF = 0.62;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Nothing in the demo content is later. A fixed day, so that answers never depend on the clock. */
const LAST_DAY = Date.UTC(2025, 5, 30, 18);
const FIRST_TAG_AT = Date.UTC(2022, 0, 3, 9);
const FIRST_AUTHOR_AT = Date.UTC(2022, 0, 10, 8);
const FIRST_POST_AT = Date.UTC(2022, 6, 1, 6);

/** What later parts of the content need to know about a post. */
interface WrittenPost {
  readonly key: string;
  readonly topic: Topic;
  readonly subject: Subject;
  /** Null while it is a draft: nobody can comment on it. */
  readonly publishedAt: number | null;
}

interface Headline {
  readonly topic: Topic;
  readonly subject: Subject;
  readonly title: string;
}

export function* demoRecords(): Generator<DemoRecord> {
  const random = createSeededRandom(SEED);
  yield* tagRecords(random);
  yield* authorRecords(random);
  const posts: WrittenPost[] = [];
  yield* postRecords(random, posts);
  yield* commentRecords(random, posts);
}

function* tagRecords(random: SeededRandom): Generator<DemoRecord> {
  let at = FIRST_TAG_AT;
  for (const [name, color] of Object.entries(TAG_COLORS)) {
    at += random.integer(1, 40) * MINUTE;
    yield { table: "tags", key: `tags/${name}`, createdAt: isoTime(at), values: { name, color }, links: {} };
  }
}

function* authorRecords(random: SeededRandom): Generator<DemoRecord> {
  let at = FIRST_AUTHOR_AT;
  for (const writer of WRITERS) {
    at += random.integer(6 * 60, 5 * 24 * 60) * MINUTE;
    yield {
      table: "authors",
      key: authorKey(writer),
      createdAt: isoTime(at),
      values: {
        name: writer.name,
        email: `${writer.handle}@example.com`,
        bio: writer.bio,
        country: writer.country,
        active: !random.chance(0.12),
        bornOn: isoDay(Date.UTC(random.integer(1951, 2002), 0, random.integer(1, 365))),
        website: random.chance(0.3) ? null : `https://${writer.handle}.example.com/`,
      },
      links: {},
    };
  }
}

function* postRecords(random: SeededRandom, written: WrittenPost[]): Generator<DemoRecord> {
  const headlines = random.shuffle(allHeadlines()).slice(0, POST_COUNT);
  const writersByTopic = writersOf(TOPICS);
  const published = new Set<number>();
  const stride = (LAST_DAY - 2 * DAY - FIRST_POST_AT) / headlines.length;

  for (const [place, { topic, subject, title }] of headlines.entries()) {
    const at = wholeSecond(FIRST_POST_AT + (place + random.next() * 0.9) * stride);
    const age = 1 - place / headlines.length;
    const status = postStatus(random, age);
    const publishedAt =
      status === "draft" ? null : unusedTime(at + random.integer(20, 28 * 60) * MINUTE, published);
    const slug = slugOf(title);
    const key = `posts/${slug}`;
    const writers = writersByTopic.get(topic) ?? [];
    const author = random.chance(0.04) ? null : authorKey(frontHeavyPick(random, writers));

    written.push({ key, topic, subject, publishedAt });
    yield {
      table: "posts",
      key,
      createdAt: isoTime(at),
      values: {
        title,
        slug,
        body: postBody(random, topic, subject),
        status,
        views: publishedAt === null ? 0 : viewCount(random, age),
        rating: publishedAt === null || random.chance(0.1) ? null : rating(random),
        publishedAt: publishedAt === null ? null : isoTime(publishedAt),
      },
      links: { author, tags: postTags(random, topic, subject) },
    };
  }
}

function* commentRecords(random: SeededRandom, posts: readonly WrittenPost[]): Generator<DemoRecord> {
  const planned: { post: WrittenPost; at: number }[] = [];
  for (const { post, publishedAt, count } of discussedPosts(random, posts)) {
    for (let index = 0; index < count; index += 1) {
      planned.push({ post, at: commentTime(random, publishedAt) });
    }
  }
  planned.sort((left, right) => left.at - right.at);

  let latest = 0;
  for (const [place, { post, at }] of planned.entries()) {
    latest = Math.max(at, latest + SECOND);
    yield {
      table: "comments",
      key: `comments/${String(place + 1).padStart(4, "0")}`,
      createdAt: isoTime(latest),
      values: {
        text: commentText(random, post),
        authorName: readerName(random),
        approved: !random.chance(0.08),
        likes: random.chance(0.4) ? 0 : Math.floor(30 * random.next() ** 3) + 1,
      },
      links: { post: post.key },
    };
  }
}

/** Every subject under every title of its topic: more than there are posts. */
function allHeadlines(): Headline[] {
  return TOPICS.flatMap((topic) =>
    topic.subjects.flatMap((subject) =>
      topic.titles.map((title) => ({ topic, subject, title: capitalized(filled(title, subject)) })),
    ),
  );
}

function writersOf(topics: readonly Topic[]): ReadonlyMap<Topic, readonly Writer[]> {
  return new Map(
    topics.map((topic) => [topic, WRITERS.filter((writer) => writer.topics.includes(topic.name))] as const),
  );
}

/** Young posts are drafts more often, old ones are archived more often. */
function postStatus(random: SeededRandom, age: number): "draft" | "published" | "archived" {
  const draw = random.next();
  if (draw < 0.06 + 0.1 * (1 - age)) return "draft";
  if (draw > 1 - 0.22 * age) return "archived";
  return "published";
}

function viewCount(random: SeededRandom, age: number): number {
  return Math.floor(20 + 400 * (0.3 + age) * (1 / (0.02 + random.next()) - 0.9));
}

function rating(random: SeededRandom): number {
  const high = 5 - 3.2 * random.next() * random.next();
  return Math.round(high * 10) / 10;
}

function postTags(random: SeededRandom, topic: Topic, subject: Subject): string[] {
  const names = new Set([topic.tag]);
  if (subject.tag !== undefined) names.add(subject.tag);
  if (random.chance(0.55)) names.add(random.pick(GENERAL_TAGS));
  if (random.chance(0.15)) names.add(random.pick(GENERAL_TAGS));
  return [...names].sort().map((name) => `tags/${name}`);
}

function postBody(random: SeededRandom, topic: Topic, subject: Subject): string {
  const [firstDetail, secondDetail] = random.shuffle(subject.details);
  const middles = random.shuffle(topic.middles);
  const paragraphs = [
    [random.pick(topic.openings), firstDetail],
    middles.slice(0, random.integer(1, 2)),
    [secondDetail, middles[2]],
    random.chance(0.4) ? middles.slice(3, 5) : [],
    [random.pick(topic.closings)],
  ];
  return paragraphs
    .filter((paragraph) => paragraph.length > 0)
    .map((paragraph) =>
      paragraph
        .map((sentence) => capitalized(filled(sentence ?? "", subject, random.integer(3, 19))))
        .join(" "),
    )
    .join("\n\n");
}

/** A few posts with many comments, many with few, and the rest with none. */
function discussedPosts(
  random: SeededRandom,
  posts: readonly WrittenPost[],
): { post: WrittenPost; publishedAt: number; count: number }[] {
  const discussed = [];
  let left = COMMENT_COUNT;
  for (const post of random.shuffle(posts)) {
    if (post.publishedAt === null || left === 0) continue;
    const rank = discussed.length + 1;
    const count = Math.min(left, Math.round(MOST_COMMENTS / rank ** COMMENT_FALL_OFF));
    discussed.push({ post, publishedAt: post.publishedAt, count });
    left -= count;
  }
  return discussed;
}

/** Most comments come in the first days, a few much later, none after the last day. */
function commentTime(random: SeededRandom, publishedAt: number): number {
  const delay = 5 * MINUTE - Math.log(1 - random.next()) * (random.chance(0.2) ? 90 * DAY : 2 * DAY);
  const at = publishedAt + delay;
  return wholeSecond(at < LAST_DAY ? at : publishedAt + random.next() * (LAST_DAY - publishedAt));
}

function commentText(random: SeededRandom, { topic, subject }: WrittenPost): string {
  const sentences = [random.pick(random.chance(0.6) ? topic.remarks : GENERAL_REMARKS)];
  if (random.chance(0.35)) sentences.unshift(random.pick(OPENING_REMARKS));
  if (random.chance(0.25)) sentences.push(random.pick(CLOSING_REMARKS));
  return filled(sentences.join(" "), subject, random.integer(3, 19));
}

/** Regular writers stand first in the list and write most of the posts. */
function frontHeavyPick<Item>(random: SeededRandom, items: readonly Item[]): Item {
  return random.pick(items.slice(0, 1 + Math.floor(items.length * random.next())));
}

function unusedTime(wanted: number, used: Set<number>): number {
  let at = wanted;
  while (used.has(at)) at += MINUTE;
  used.add(at);
  return at;
}

function authorKey(writer: Writer): string {
  return `authors/${writer.handle}`;
}

function filled(text: string, subject: Subject, count = 0): string {
  return text
    .replaceAll("{X}", capitalized(subject.name))
    .replaceAll("{x}", subject.name)
    .replaceAll("{n}", numberWord(count));
}

const NUMBER_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

function numberWord(count: number): string {
  return NUMBER_WORDS[count] ?? String(count);
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** `Phở at home: where to start` -> `pho-at-home-where-to-start`. */
function slugOf(title: string): string {
  return title
    .normalize("NFD")
    .replace(/[\u0300-\u036f']/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

function wholeSecond(at: number): number {
  return Math.floor(at / SECOND) * SECOND;
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

function isoDay(at: number): string {
  return isoTime(at).slice(0, 10);
}
