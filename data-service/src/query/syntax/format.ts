// `format` -> how a list is answered: as JSON in the envelope, or as a file.
import type { Json } from "@portico/shared/json";
import type { Parameters } from "../parameters.js";
import { refuse } from "../refuse.js";

export type ExportFormat = "csv" | "ndjson";

/** Reads `format=json|csv|ndjson`. @returns undefined for JSON */
export function parseFormat(given: Json | undefined): ExportFormat | undefined {
  if (given === undefined || given === "json") return undefined;
  if (given === "csv" || given === "ndjson") return given;
  throw refuse("format", "must be json, csv or ndjson");
}

/**
 * The parameters of a file: it is complete unless a limit is named.
 * @throws AppError 400 for anything that a file can't contain
 */
export function parametersOfExport(format: ExportFormat, parameters: Parameters): Parameters {
  for (const name of ["meta", "aggregate", "explain"] as const) {
    if (parameters[name] !== undefined)
      throw refuse(name, `does not apply to format=${format}, which holds records and nothing else`);
  }
  return { ...parameters, limit: parameters.limit ?? 0 };
}
