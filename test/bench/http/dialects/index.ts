// Every target with the way to ask it.
import type { Dialect } from "../dialect.js";
import { directus } from "./directus.js";
import { feathers } from "./feathers.js";
import { floor } from "./floor.js";
import { parse } from "./parse.js";
import { portico } from "./portico.js";

export const DIALECTS = {
  floor,
  proxied: floor,
  data: portico(""),
  gateway: portico("/api"),
  feathers,
  parse,
  directus,
} as const satisfies Readonly<Record<string, Dialect>>;

export type TargetName = keyof typeof DIALECTS;
