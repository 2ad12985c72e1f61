// Keys that instances share: which this one knows, reads again, and is unsure of.
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { openStoredKeys, type RotatingKeyRing, type StoredKey } from "./stored-keys.js";

let time: number;
let stored: StoredKey[];
let isAway: boolean;
let looks: number;
let rotated: string[];
let claimed: string | undefined;
let onAdd: () => void;

const open = (): Promise<RotatingKeyRing> => openWith(generateKeyPairSync("ed25519").privateKey);
const openWith = (given: KeyObject, secret = "one"): Promise<RotatingKeyRing> =>
  openStoredKeys(
    {
      store: {
        async all() {
          looks += 1;
          if (isAway) throw new Error("the database is away");
          return [...stored];
        },
        async claim(sealed) {
          claimed ??= sealed;
          return claimed;
        },
        claimed: async () => claimed,
        async add(key) {
          stored.push(key);
          onAdd();
          return true;
        },
        forgetPrivate: async (kids) => {
          stored = stored.map((key) => (kids.includes(key.kid) ? { ...key, sealed: undefined } : key));
        },
      },
      sealer: {
        seal: async (text) => `${secret} ${text}`,
        open: async (sealed) =>
          sealed.startsWith(`${secret} `) ? sealed.slice(secret.length + 1) : undefined,
      },
      clock: { now: () => new Date(time) },
      ttlSeconds: 600,
    },
    given,
    async (kid) => void rotated.push(kid),
  );

beforeEach(() => {
  time = 1_000_000;
  [stored, isAway, looks, rotated, claimed] = [[], false, 0, [], undefined];
  onAdd = () => {};
});

describe("a key that this instance does not know", () => {
  it("is called unknown to nobody while the keys can't be read, though they are not read at each request", async () => {
    const ring = await open();
    isAway = true;
    time += 1_000;
    const before = looks;
    for (let request = 0; request < 3; request += 1)
      await expect(ring.verifying("another", new Date(time))).rejects.toMatchObject({
        code: "SERVICE_UNAVAILABLE",
      });
    expect(looks).toBe(before + 1);
    isAway = false;
    time += 1_000;
    expect(await ring.verifying("another", new Date(time))).toBeUndefined();
  });
});

describe("what is known of the keys", () => {
  it("is not believed for longer because the clock is set back", async () => {
    const ring = await open();
    time -= 3_600_000;
    await ring.signingAt(time / 1000);
    const before = looks;
    time += 5_000;
    await ring.signingAt(time / 1000);
    expect(looks).toBe(before + 1);
  });
});

describe("first starts at once", () => {
  it("with different secrets: one has won, and the others are refused", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const starts = ["one", "two", "three"].map((secret) => openWith(privateKey, secret));
    const ended = (await Promise.allSettled(starts)).map(({ status }) => status).toSorted();
    expect(ended).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(stored).toHaveLength(1);
  });
});

describe("a rotation", () => {
  it("is told as one once its key is there, whatever can't be read after that", async () => {
    const ring = await open();
    onAdd = () => {
      isAway = true;
    };
    const { kid } = await ring.rotate();
    expect(stored[1]?.kid).toBe(kid);
  });
});

describe("a key that a start brings", () => {
  it("is told as a rotation, by the start that adds it, unless it begins the ring", async () => {
    const [first, second] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    await openWith(first.privateKey);
    expect(rotated).toEqual([]);
    await openWith(second.privateKey);
    await openWith(second.privateKey);
    await openWith(first.privateKey);
    expect(rotated).toEqual([stored[1]?.kid]);
  });
});

describe("the private half of a key that another one was given for", () => {
  it("is forgotten at the first start after its last token has expired", async () => {
    const sealedOnes = (): boolean[] => stored.map(({ sealed }) => sealed !== undefined);
    await open();
    time += 5_000;
    await open();
    expect(sealedOnes()).toEqual([true, true]);
    time += 10_000 + 600_000 + 30_000;
    await open();
    expect(sealedOnes()).toEqual([false, true, true]);
  });

  it("is not needed where a clock was set back to its turn", async () => {
    await open();
    time += 5_000;
    await open();
    time += 10_000 + 600_000 + 30_000;
    await open();
    time -= 640_000;
    const ring = await open();
    const { kid, key } = await ring.signingAt(time / 1000);
    expect((await ring.verifying(kid, new Date(time)))?.equals(createPublicKey(key))).toBe(true);
  });
});
