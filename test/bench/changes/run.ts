// What keeping a journal costs a write: the same writes on a plain table, one with `changes`, and one with both options,
// in turns, so that a busy machine is equally busy for all. Prints medians in milliseconds.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { startStack } from "../../support/stack.js";

const ROUNDS = Number(process.argv[2] ?? 60);
const AT_ONCE = 16;
const OPTIONS = {
  plain: {},
  changes: { changes: true },
  "changes and history": { changes: true, history: true },
};

const columns = [
  { name: "title", type: "string" },
  { name: "text", type: "text" },
  { name: "n", type: "int" },
];
const body = (n: number) => ({ title: `title ${n}`, text: "some words ".repeat(40), n });

const directory = await mkdtemp(join(tmpdir(), "portico-bench-changes-"));
const stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
try {
  const admin = await asAdmin(stack);
  const inside = await signIn(stack.dataUrl, stack.admin);
  const tables = Object.entries(OPTIONS).map(([label, options], at) => ({ label, options, name: `t${at}` }));
  for (const { name, options } of tables) await admin.post("/svc_table", { name, columns, ...options });
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { label, name } of tables) {
      const note = (what: string, milliseconds: number): void => {
        const key = `${what} | ${label}`;
        times.set(key, [...(times.get(key) ?? []), milliseconds]);
      };
      await turn(inside, name, round, note);
    }
  }
  for (const [key, all] of [...times].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    process.stdout.write(`| ${key} | ${median(all).toFixed(2)} |\n`);
} finally {
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
}

async function turn(
  api: Api,
  table: string,
  round: number,
  note: (what: string, milliseconds: number) => void,
): Promise<void> {
  const timed = async <Result>(what: string, act: () => Promise<Result>): Promise<Result> => {
    const began = performance.now();
    const result = await act();
    note(what, performance.now() - began);
    return result;
  };
  const made = await timed("create", () => api.post(`/${table}`, body(round)));
  const id: string = made.body.data[0].id;
  await timed("update", () => api.patch(`/${table}/${id}`, { n: -1 }));
  const many = Array.from({ length: AT_ONCE }, (_, at) => at);
  await timed(`${AT_ONCE} creates at once`, () =>
    Promise.all(many.map((at) => api.post(`/${table}`, body(at)))),
  );
  await timed("100 creates in one call", () =>
    api.post(
      `/${table}`,
      Array.from({ length: 100 }, (_, at) => body(at)),
    ),
  );
  await timed("delete", () => api.delete(`/${table}/${id}`));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
