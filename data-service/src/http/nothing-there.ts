// The answer where no route is; an id with an unencoded slash in an address leads here, too.
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import type { RequestHandler } from "express";
import { tableNameProblem } from "../catalog/names.js";

export function nothingThere(systemTablePrefix: string): RequestHandler {
  return (request) => {
    const [, table = "", ...rest] = request.path.split("/");
    const isBelowRecord = rest.length > 1 && tableNameProblem(table, systemTablePrefix) === undefined;
    const remedy = isBelowRecord ? '; a record whose id holds a slash is found by filter={"id":"…"}' : "";
    throw new AppError("NOT_FOUND", `There is nothing at ${contextOf(request).publicPath}${remedy}.`);
  };
}
