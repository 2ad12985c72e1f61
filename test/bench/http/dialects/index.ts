// Every target with the way to ask it.
import type { Dialect } from "../dialect.js";
import { floor } from "./floor.js";
import { portico } from "./portico.js";

export const DIALECTS = {
  floor,
  data: portico(""),
  gateway: portico("/api"),
} as const satisfies Readonly<Record<string, Dialect>>;

export type TargetName = keyof typeof DIALECTS;
