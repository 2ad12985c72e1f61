// `npm run test:timing -- --samples 1000`: can the time of a refused sign-in tell whether an account exists?
//
// One sign-in at a time, the kinds of accounts in turns, so that whatever else the machine does meets all of them alike.
// Ends with 1 when an answer differs or a kind is told from a known account too well.
import { parseArgs } from "node:util";
import { Client, type Outcome } from "../resilience/support/client.js";
import setUp from "../support/global-setup.js";
import tearDown from "../support/global-teardown.js";
import { type Stack, startStack } from "../support/stack.js";
import { emailOf, KINDS, type Kind, KNOWN, makeAccounts, OTHERS } from "./accounts.js";
import { median, separation } from "./separation.js";

const { values } = parseArgs({ options: { samples: { type: "string", default: "1000" } } });
const samples = Number(values.samples);
if (!Number.isSafeInteger(samples) || samples < 1) {
  console.error("usage: run.js [--samples N]");
  process.exit(2);
}

const MOST_AUC = 0.55;
/** So far from a half noise alone comes in three of a thousand comparisons. */
const ERRORS_TO_TELL = 3;
/** Code is compiled and connections are opened; not measured. */
const WARM_UP = 50;
/** From the tenth failure on an account makes everybody wait. */
const TRIES_PER_ACCOUNT = 5;
const PROGRESS_MS = 30_000;

type Outcomes = Readonly<Record<Kind, Outcome[]>>;

await setUp();
process.exitCode = await measure()
  .finally(tearDown)
  .then((outcomes) => (report(outcomes) ? 0 : 1));

async function measure(): Promise<Outcomes> {
  const stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  try {
    const accounts = Math.ceil((WARM_UP + samples) / TRIES_PER_ACCOUNT);
    console.log(`${samples} sign-ins of each of ${KINDS.length} kinds, ${accounts} accounts of each`);
    await makeAccounts(stack, accounts);
    return await signInInTurns(stack, accounts);
  } finally {
    await stack.stop();
  }
}

async function signInInTurns({ appUrl }: Stack, accounts: number): Promise<Outcomes> {
  const client = new Client(`${appUrl}/api`);
  const outcomes: Outcomes = { [KNOWN]: [], unknown: [], disabled: [], "provider only": [] };
  let reported = performance.now();
  for (let round = 0; round < WARM_UP + samples; round += 1) {
    for (const [turn, kind] of shuffled(KINDS).entries()) {
      const address = addressOf(round * KINDS.length + turn);
      const outcome = await refusedSignIn(client, emailOf(kind, round % accounts), address);
      if (round >= WARM_UP) outcomes[kind].push(outcome);
    }
    if (performance.now() - reported < PROGRESS_MS) continue;
    reported = performance.now();
    console.log(`${round + 1} of ${WARM_UP + samples} rounds`);
  }
  client.close();
  return outcomes;
}

function refusedSignIn(client: Client, email: string, address: string): Promise<Outcome> {
  return client.ask("POST", "/auth/login", {
    body: JSON.stringify({ email, password: "a wrong password" }),
    headers: { "Content-Type": "application/json", "X-Forwarded-For": address },
  });
}

/** A client that has never failed before: the limits of one address would end the measurement. */
function addressOf(at: number): string {
  return `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
}

/** A fixed order would make each kind pay for what the one before it leaves behind. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** @returns whether the kinds can't be told apart */
function report(outcomes: Outcomes): boolean {
  const known = { times: timesOf(outcomes[KNOWN]), answers: answersOf(outcomes[KNOWN]) };
  const isMeasured = known.answers.length === 1 && outcomes[KNOWN][0]?.ended === 401;
  if (!isMeasured) console.error(`not one refusal but: ${known.answers.join("\n")}`);
  console.log(`${KNOWN.padEnd(14)} median ${median(known.times).toFixed(2)} ms`);
  const verdicts = OTHERS.map((kind) => {
    const times = timesOf(outcomes[kind]);
    const answers = answersOf(outcomes[kind]);
    const isSame = answers.join("\n") === known.answers.join("\n");
    const { auc, error } = separation(known.times, times);
    const figures = `median ${median(times).toFixed(2)} ms  AUC ${auc.toFixed(3)} ± ${error.toFixed(3)}`;
    console.log(`${kind.padEnd(14)} ${figures}  ${isSame ? "same answer" : "ANOTHER ANSWER"}`);
    if (!isSame) console.error(answers.join("\n"));
    return isSame && auc <= MOST_AUC;
  });
  sayWhatNoiseDoes();
  return isMeasured && verdicts.every(Boolean);
}

function sayWhatNoiseDoes(): void {
  const { error } = separation(Array(samples).fill(0), Array(samples).fill(0));
  if (ERRORS_TO_TELL * error <= MOST_AUC - 0.5) return;
  const needed = Math.ceil(ERRORS_TO_TELL ** 2 / (6 * (MOST_AUC - 0.5) ** 2));
  console.log(
    `${samples} samples are too few: noise alone passes ${MOST_AUC} too often; take ${needed} or more`,
  );
}

function timesOf(outcomes: readonly Outcome[]): number[] {
  return outcomes.map(({ ms }) => ms);
}

/** The different answers, without what differs in every answer. */
function answersOf(outcomes: readonly Outcome[]): string[] {
  const answers = outcomes.map(
    ({ ended, text }) => `${ended} ${text.replace(/"(timestamp|correlationId)":"[^"]*"/g, '"$1":""')}`,
  );
  return [...new Set(answers)].toSorted();
}
