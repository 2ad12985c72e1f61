// Which refresh tokens move a session on, are repeated, or end it (contract 3.1): cases and properties.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decideRotation, GRACE_MS, type Rotation } from "./decide-rotation.js";

const now = new Date("2026-01-01T12:00:00.000Z");
const ago = (ms: number) => new Date(now.getTime() - ms);

const alive = { generation: 5, rotatedAt: ago(60_000), expiresAt: ago(-1000) };
const justRotated = { ...alive, rotatedAt: ago(1000) };

const TABLE: [string, Parameters<typeof decideRotation>[0], number, Rotation][] = [
  ["the current token", alive, 5, "rotate"],
  ["the current token right after a rotation", justRotated, 5, "rotate"],
  ["the previous token within the grace window", justRotated, 4, "repeat"],
  ["the previous token at the window's last moment", { ...alive, rotatedAt: ago(GRACE_MS) }, 4, "repeat"],
  ["the previous token a moment later", { ...alive, rotatedAt: ago(GRACE_MS + 1) }, 4, "revoke"],
  [
    "the previous token at the last moment after a rotation that was written late",
    { ...alive, supersededAt: ago(GRACE_MS) },
    4,
    "repeat",
  ],
  [
    "the previous token where the database's clock is behind",
    { ...justRotated, supersededAt: ago(GRACE_MS + 1) },
    4,
    "repeat",
  ],
  [
    "the previous token where the database's clock is far ahead",
    { ...alive, rotatedAt: ago(200_000), supersededAt: ago(-3_600_000) },
    4,
    "revoke",
  ],
  [
    "the previous token where an earlier version has left the time of a refresh before that",
    { ...justRotated, supersededAt: ago(600_000) },
    4,
    "repeat",
  ],
  [
    "the previous token when another instance's clock is ahead",
    { ...alive, rotatedAt: ago(-500) },
    4,
    "repeat",
  ],
  ["the one before, even within the window", justRotated, 3, "revoke"],
  ["the very first token", justRotated, 0, "revoke"],
  ["a generation that was never stored", alive, 6, "refuse"],
  ["any token of a session that is gone", undefined, 5, "refuse"],
  ["the current token of an expired session", { ...alive, expiresAt: now }, 5, "refuse"],
  ["a replaced token of an expired session", { ...alive, expiresAt: now }, 2, "refuse"],
];

describe("decideRotation", () => {
  it.each(TABLE)("%s", (_name, session, presented, expected) => {
    expect(decideRotation(session, presented, now)).toBe(expected);
  });

  it("never moves a session on for a replaced token, and forgives nothing but a quick repeat", () => {
    const step = fc.record({
      wait: fc.integer({ min: 0, max: 40_000 }),
      // Near the current one: of generations at random, nearly all would be refused.
      behind: fc.constantFrom(-1, 0, 0, 0, 1, 1, 2, 3),
    });
    const steps = fc.array(step, { maxLength: 40, size: "max" });
    const reached = new Set<Rotation>();
    fc.assert(
      fc.property(steps, (calls) => {
        let time = now.getTime();
        let session: { generation: number; rotatedAt: Date; expiresAt: Date } | undefined = {
          generation: 0,
          rotatedAt: now,
          expiresAt: new Date(8.64e15),
        };
        for (const { wait, behind } of calls) {
          time += wait;
          const generation: number | undefined = session?.generation;
          const presented = Math.max(0, (generation ?? 0) - behind);
          const age: number = time - (session?.rotatedAt.getTime() ?? 0);
          const decision = decideRotation(session, presented, new Date(time));
          reached.add(decision);
          if (generation === undefined) expect(decision).toBe("refuse");
          else if (presented === generation) expect(decision).toBe("rotate");
          else if (presented > generation) expect(decision).toBe("refuse");
          else if (presented === generation - 1 && age <= 30_000) expect(decision).toBe("repeat");
          else expect(decision).toBe("revoke");

          if (decision === "revoke") session = undefined;
          if (decision === "rotate" && session !== undefined) {
            session = { ...session, generation: session.generation + 1, rotatedAt: new Date(time) };
          }
        }
      }),
    );
    expect([...reached].toSorted()).toEqual(["refuse", "repeat", "revoke", "rotate"]);
  });
});
