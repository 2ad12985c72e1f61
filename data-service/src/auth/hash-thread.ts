// What a thread of the password hasher does. It gives way to everything else: a flood of sign-ins must not slow down users
// who are signed in.
import { hashSync, type Options, verifySync } from "@node-rs/argon2";
import { giveWay } from "../give-way.js";

/** Sent to a thread: a password to hash, or one to compare with a hash. */
export type HashTask =
  | { readonly kind: "hash"; readonly password: string; readonly cost: Options }
  | { readonly kind: "verify"; readonly stored: string; readonly password: string };

/** A lower priority than the embedded engine's, whose queries others wait for. */
const NICENESS = 15;

giveWay(NICENESS);

/** @returns the hash, or whether the password matches the hash */
export default function run(task: HashTask): string | boolean {
  if (task.kind === "hash") return hashSync(task.password, task.cost);
  return verifySync(task.stored, task.password);
}
