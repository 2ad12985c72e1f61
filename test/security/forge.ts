// Carries out a recipe of corpora/jwt-bad.json: a valid token in, the tampered ones out.
import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signBytes,
} from "node:crypto";
import { CompactEncrypt } from "jose";

/** One step of a recipe. */
export interface Step {
  readonly op: string;
  readonly [parameter: string]: unknown;
}

/** What the recipes' capital words stand for. */
export interface Facts {
  readonly serverKey: KeyObject;
  readonly userId: string;
  readonly adminId: string;
  readonly otherSessionId: string;
  /** Where `jku` points; nobody must ask there. */
  readonly jku: string;
}

/** A token in parts; header and payload members as JSON text, so that a recipe can say what no JSON writer would. */
interface Draft {
  readonly header: ReadonlyMap<string, string>;
  readonly payload: ReadonlyMap<string, string>;
  readonly rawPayload?: Buffer;
  readonly signature: Buffer;
  /** Stands in for everything else. */
  readonly whole?: string;
}

/** What a step makes different about a draft. */
type Change = (draft: Draft, facts: Facts) => Partial<Draft> | Promise<Partial<Draft>>;

/** Every token a recipe describes; several where it says EACH or WORDLIST. */
export async function forge(valid: string, steps: readonly Step[], facts: Facts): Promise<string[]> {
  let drafts = [parse(valid)];
  for (const step of steps) {
    const changes = changesOf(step);
    const next = drafts.flatMap((draft) =>
      changes.map(async (change): Promise<Draft> => ({ ...draft, ...(await change(draft, facts)) })),
    );
    drafts = await Promise.all(next);
  }
  return drafts.map(write);
}

/** The ways to carry a step out, one token for each. @throws for a step that is not known here */
function changesOf(step: Step): Change[] {
  switch (step.op) {
    case "takeValid":
    case "logoutAfterTake":
    case "newKey":
      return [() => ({})];
    case "setHeader":
      return [({ header }, facts) => ({ header: withHeaders(header, step, facts) })];
    case "deleteHeader":
      return [({ header }) => ({ header: without(header, String(step.name)) })];
    case "setPayload":
      return payloadChanges(step);
    case "deletePayload":
      return [({ payload }) => ({ payload: without(payload, String(step.name)) })];
    case "rawPayload":
      return alternatives(step.value).map((text) => (draft, facts) => ({
        rawPayload: Buffer.from(duplicateSubject(text, draft, facts)),
      }));
    case "rawPayloadBytes":
      return [() => ({ rawPayload: Buffer.from(String(step.hex), "hex") })];
    case "sign":
      return signers(step);
    case "rawSig":
      return [() => ({ signature: Buffer.alloc(step.value === "ZERO64" ? 64 : 0) })];
    case "flipSigBit":
      return [
        ({ signature }) => ({
          signature: Buffer.from(signature.map((byte, at) => (at === 5 ? byte ^ 1 : byte))),
        }),
      ];
    case "truncateSig":
      return [({ signature }) => ({ signature: signature.subarray(0, Number(step.bytes)) })];
    case "dropPart":
      return [(draft) => ({ whole: write(draft).split(".").toSpliced(Number(step.index), 1).join(".") })];
    case "insert":
      return [(draft) => ({ whole: `${write(draft).slice(0, 20)}\0${write(draft).slice(20)}` })];
    case "garbage":
      return [() => ({ whole: randomBytes(Number(step.bytes)).toString("base64url") })];
    case "makeJwe":
      return [makeJwe];
    default:
      throw new Error(`unknown step ${step.op}`);
  }
}

function withHeaders(header: Draft["header"], { op: _op, ...members }: Step, facts: Facts): Draft["header"] {
  const texts = Object.entries(members).map(([name, value]): [string, string] => [
    name,
    headerValue(value, facts),
  ]);
  return new Map([...header, ...texts]);
}

function without(members: ReadonlyMap<string, string>, name: string): ReadonlyMap<string, string> {
  return new Map([...members].filter(([each]) => each !== name));
}

function headerValue(value: unknown, { jku }: Facts): string {
  if (value === "REPEAT:a*1048576") return JSON.stringify("a".repeat(1_048_576));
  if (value === "EVIL_PUBLIC_JWK")
    return JSON.stringify(createPublicKey(EVIL.ES256).export({ format: "jwk" }));
  return JSON.stringify(typeof value === "string" && value.startsWith("http://127.0.0.1:9/") ? jku : value);
}

function payloadChanges({ op: _op, ...claims }: Step): Change[] {
  const [[name, value] = ["", ""], ...others] = Object.entries(claims);
  return alternatives(value).map(
    (text): Change =>
      ({ payload }, facts) => {
        const texts = [[name, text] as const, ...others].map(([claim, each]): [string, string] => [
          claim,
          claimText(String(each), facts),
        ]);
        const changed = new Map([...payload, ...texts]);
        return { payload: text === "DELETE" ? without(changed, name) : changed };
      },
  );
}

/** A claim as JSON text: NOW with a calculation, a capital word, or JSON as it stands. */
function claimText(text: string, facts: Facts): string {
  const now = Math.floor(Date.now() / 1000);
  const calculation = /^NOW([+*-])(\d+)$/.exec(text);
  if (calculation !== null) {
    const [, operator, operand] = calculation;
    const by = Number(operand);
    return String(operator === "*" ? now * by : operator === "+" ? now + by : now - by);
  }
  if (text === "ADMIN_ID") return JSON.stringify(facts.adminId);
  if (text === "OTHER_USER_SID") return JSON.stringify(facts.otherSessionId);
  return text;
}

/** The recipe with two `sub` keys leaves the rest of the payload to us. */
function duplicateSubject(text: string, { payload }: Draft, { userId, adminId }: Facts): string {
  if (!text.startsWith('{"sub":"USER"')) return text;
  const rest = [...payload].filter(([name]) => name !== "sub").map(([name, value]) => `"${name}":${value}`);
  return `{"sub":"${userId}","sub":"${adminId}",${rest.join(",")}}`;
}

function alternatives(value: unknown): string[] {
  const [, list] = /^EACH:(.*)$/.exec(String(value)) ?? [];
  return list === undefined ? [String(value)] : list.split(",");
}

const EVIL = {
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
};

function signers({ alg, key }: Step): Change[] {
  if (key === "SERVER_KEY") {
    return [(draft, { serverKey }) => ({ signature: signBytes(null, signedPart(draft), serverKey) })];
  }
  if (key === "EVIL") return [signAsStranger(alg === "RS256" ? "RS256" : "ES256")];
  if (key === "SERVER_PUBLIC_PEM")
    return SPELLINGS.map((spell) => signHmac((facts) => spell(facts.serverKey)));
  const [, words] = /^WORDLIST:(.*)$/.exec(String(key)) ?? [];
  return (words?.split(",") ?? [String(key)]).map((word) => signHmac(() => word));
}

/** What somebody may take for the secret that belongs to a public key. */
const SPELLINGS: readonly ((key: KeyObject) => string | Buffer)[] = [
  (key) => String(createPublicKey(key).export({ format: "pem", type: "spki" })),
  (key) => String(createPublicKey(key).export({ format: "pem", type: "spki" })).trimEnd(),
  (key) => createPublicKey(key).export({ format: "der", type: "spki" }),
  (key) => JSON.stringify(createPublicKey(key).export({ format: "jwk" })),
  (key) => String(createPublicKey(key).export({ format: "jwk" }).x),
];

function signHmac(secretOf: (facts: Facts) => string | Buffer): Change {
  return (draft, facts) => {
    const header = new Map([...draft.header, ["alg", '"HS256"']]);
    const signed = signedPart({ ...draft, header });
    return { header, signature: createHmac("sha256", secretOf(facts)).update(signed).digest() };
  };
}

function signAsStranger(alg: "ES256" | "RS256"): Change {
  const key = { key: EVIL[alg], dsaEncoding: "ieee-p1363" } as const;
  return (draft) => ({ signature: signBytes("sha256", signedPart(draft), key) });
}

const makeJwe: Change = async (draft) => ({
  whole: await new CompactEncrypt(Buffer.from(payloadText(draft)))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", typ: "at+jwt" })
    .encrypt(randomBytes(32)),
});

function parse(token: string): Draft {
  const [header = "", payload = "", signature = ""] = token.split(".");
  return {
    header: membersOf(header),
    payload: membersOf(payload),
    signature: Buffer.from(signature, "base64url"),
  };
}

function membersOf(part: string): ReadonlyMap<string, string> {
  const json = JSON.parse(Buffer.from(part, "base64url").toString()) as Readonly<Record<string, unknown>>;
  return new Map(Object.entries(json).map(([name, value]) => [name, JSON.stringify(value)]));
}

function write(draft: Draft): string {
  return draft.whole ?? `${signedPart(draft)}.${draft.signature.toString("base64url")}`;
}

function signedPart(draft: Draft): Buffer {
  const payload = draft.rawPayload ?? Buffer.from(payloadText(draft));
  return Buffer.from(
    `${Buffer.from(objectText(draft.header)).toString("base64url")}.${payload.toString("base64url")}`,
  );
}

function payloadText({ payload }: Draft): string {
  return objectText(payload);
}

function objectText(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}
