// A parameter that is text separated by commas, or a list of such texts.
import { isArray, type Json, kindOf } from "@portico/shared/json";
import { type Path, refuse } from "../refuse.js";

/** @param what the texts are, in the plural. @throws AppError 400 for anything but text */
export function textsOf(given: Json, what: string, path: Path): string[] {
  if (typeof given === "string") return given.split(",");
  if (!isArray(given)) throw refuse(path, `must be ${what} separated by commas, not ${kindOf(given)}`);
  return given.map((each, at) => {
    if (typeof each !== "string") throw refuse(`${path}[${at}]`, `must be text, not ${kindOf(each)}`);
    return each;
  });
}
