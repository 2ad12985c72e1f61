// Runs generated requests against a running data service and the oracle, and gathers differences.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { MongoClient } from "mongodb";
import { type Api, signIn } from "../support/api.js";
import { ADMIN, freshDatabase, startService } from "../support/stack.js";
import { BuildRefused, build } from "./build.js";
import { compareAnswers, type Difference, type Finding } from "./difference.js";
import { fromSeed } from "./draw.js";
import { anyBlueprint } from "./generate-data.js";
import { anyRequest } from "./generate-request.js";
import { inParallel } from "./in-parallel.js";
import { freshPrefix, shrink } from "./shrink.js";

const REQUESTS_PER_CASE = 50;
/**
 * Tables are never removed, so that a run goes on in a new database from time to time, and with it down another road. The
 * cases of the shortest run reach them all.
 */
const CASES_PER_DATABASE = 8;

/** Settings of a data service. */
type Settings = Readonly<Record<string, string>>;

/** The planner's roads: the small tables of generated cases would all take the first. */
const ROADS: readonly Settings[] = [
  {},
  { QUERY_PLAN_MAX_KEYS: "0" },
  { QUERY_PLAN_MAX_KEYS: "0", QUERY_PLAN_FEW_PARENTS: "0" },
  { QUERY_PLAN_FEW_PARENTS: "0", QUERY_PLAN_WINDOW_CHILDREN: "1" },
  { QUERY_PLAN_FEW_PARENTS: "0", QUERY_PLAN_WINDOW_CHILDREN: "0" },
];

/** The road of a run's so manyth database. */
export function roadOf(database: number): Settings {
  return ROADS[database % ROADS.length] ?? {};
}

export interface RunOptions {
  readonly runs: number;
  readonly seed: number;
  /** Stop after this many differences. */
  readonly mostFindings?: number;
  /** Differences are not made small. */
  readonly asFound?: boolean;
  /** Called after each set of tables. */
  readonly progress?: (done: number, findings: readonly Finding[]) => void;
}

export interface RunningService {
  /** As root. */
  readonly api: Api;
  readonly url: string;
  stop(): Promise<void>;
}

/** A data service on a database of its own. @param settings over its defaults */
export async function startDataService(settings: Settings = {}): Promise<RunningService> {
  const dataDir = await mkdtemp(join(tmpdir(), "portico-oracle-"));
  const mongodbUrl = freshDatabase();
  const service = await startService("@portico/data-service/main", {
    APP_URL: "http://localhost:3000",
    DATA_SERVICE_PORT: "0",
    DATA_DIR: dataDir,
    MONGODB_URL: mongodbUrl,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    DEMO: "off",
    NODE_ENV: "test",
    LOG_LEVEL: "error",
    ACCESS_TOKEN_TTL_SECONDS: "3600",
    // A filter through seven relations takes its time where everything is joined, and many records where four
    // relations follow each other.
    QUERY_TIMEOUT_MS: "200000",
    ...settings,
  });
  return {
    api: await signIn(service.url, ADMIN),
    url: service.url,
    async stop() {
      await service.stop();
      const client = new MongoClient(mongodbUrl);
      await client.db().dropDatabase();
      await client.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export interface RunResult {
  readonly findings: readonly Finding[];
  /** Requests whose answer had to have records. */
  readonly telling: number;
}

/** Runs that many requests; the same seed gives the same tables, records and requests. */
export async function run({
  runs,
  seed,
  mostFindings = 5,
  asFound = false,
  progress,
}: RunOptions): Promise<RunResult> {
  const findings: Finding[] = [];
  let telling = 0;
  let road = roadOf(0);
  let service = await startDataService(road);
  try {
    for (let at = 0; at * REQUESTS_PER_CASE < runs && findings.length < mostFindings; at += 1) {
      if (at > 0 && at % CASES_PER_DATABASE === 0) {
        await service.stop();
        road = roadOf(at / CASES_PER_DATABASE);
        service = await startDataService(road);
      }
      const count = Math.min(REQUESTS_PER_CASE, runs - at * REQUESTS_PER_CASE);
      const result = await runCase(service.api, { seed, at, count, asFound });
      telling += result.telling;
      if (result.finding !== undefined) findings.push({ ...result.finding, road });
      progress?.(at * REQUESTS_PER_CASE + count, findings);
    }
  } finally {
    await service.stop();
  }
  return { findings, telling };
}

/** One set of tables and its requests; the first difference, made as small as it gets. */
async function runCase(
  api: Api,
  { seed, at, count, asFound }: { seed: number; at: number; count: number; asFound: boolean },
): Promise<{ readonly finding: Omit<Finding, "road"> | undefined; readonly telling: number }> {
  const caseSeed = seedOf(seed, at);
  const blueprint = fromSeed(anyBlueprint, caseSeed);
  const built = await build(api, blueprint, freshPrefix()).catch((error: unknown) => {
    if (error instanceof BuildRefused) throw new Error(`seed ${seed}, case ${at}: ${error.message}`);
    throw error;
  });
  const requests = fc.sample(anyRequest(blueprint), { seed: caseSeed, numRuns: count, unbiased: true });
  const compared = await inParallel(requests, (request) => compareAnswers(api, built, request));
  const telling = compared.filter(({ isTelling }) => isTelling).length;
  const first = compared.findIndex(({ difference }) => difference !== undefined);
  const [request, difference] = [requests[first], compared[first]?.difference];
  if (request === undefined || difference === undefined) return { finding: undefined, telling };
  const found = { blueprint, request, difference };
  if (asFound) return { finding: { seed, case: at, isPassing: false, ...found }, telling };
  const isPassing = (await compareAnswers(api, built, request)).difference === undefined;
  const smallest = isPassing ? found : await shrink(api, built, found);
  return { finding: { seed, case: at, isPassing, ...smallest }, telling };
}

/** Seeds of neighbouring cases must not look alike. */
function seedOf(seed: number, at: number): number {
  return (Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) ^ Math.imul(at + 1, 0x85ebca6b)) | 0;
}

/** What a person needs to judge who is wrong. */
export function describeFinding({
  seed,
  case: at,
  road,
  isPassing,
  blueprint,
  request,
  difference,
}: Finding): string {
  const { status, parameters, expected, actual }: Difference = difference;
  const tables = blueprint.tables.map(({ rows, ...table }) => {
    const records = rows.map((row, index) => `      ${index} ${JSON.stringify(row)}`);
    return [`    ${JSON.stringify(table)}`, ...records].join("\n");
  });
  return [
    `difference with seed ${seed}, case ${at}${isPassing ? ", gone when asked again" : ""}`,
    `  settings  ${JSON.stringify(road)}`,
    ...["  tables and records", ...tables],
    ...[`  request   ${JSON.stringify(request)}`, `  as sent   ${JSON.stringify(parameters)}`],
    `  expected  ${JSON.stringify(expected)}`,
    `  actual    ${status} ${JSON.stringify(actual)}`,
  ].join("\n");
}
