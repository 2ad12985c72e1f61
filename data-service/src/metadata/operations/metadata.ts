// The routes that describe the API (metadata/routes), described. Pure.
import { dataAnswer, FORWARDED, inPath, json, type Operation, TEXT } from "@portico/shared/operation";
import { ref } from "../common-parts.js";

const ABOUT = "About the API";
const TABLE = ref("TableMetadata");

export const METADATA_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/metadata",
    id: "getMetadata",
    tag: ABOUT,
    for: "anyone",
    summary: "The tables one may use, with their columns, relations and actions",
    answers: { 200: dataAnswer(200, "What one may not know is missing.", TABLE) },
    refusals: FORWARDED,
  },
  {
    method: "get",
    path: "/metadata/{table}",
    id: "getTableMetadata",
    tag: ABOUT,
    for: "anyone",
    summary: "One table",
    parameters: [inPath("table", TEXT, "Its name.")],
    answers: { 200: dataAnswer(200, "The table.", TABLE) },
    refusals: [...FORWARDED, 404],
  },
  {
    method: "get",
    path: "/openapi.json",
    id: "getOpenApi",
    tag: ABOUT,
    for: "anyone",
    summary: "This document",
    description: "It lists exactly what the caller may use.",
    answers: { 200: json("An OpenAPI 3.1 document.", { type: "object", required: ["openapi"] }) },
    refusals: FORWARDED,
  },
  {
    method: "get",
    path: "/types.ts",
    id: "getTypes",
    tag: ABOUT,
    for: "anyone",
    summary: "TypeScript types of the tables one may use",
    answers: { 200: { description: "A module of types.", content: { "text/plain": { schema: TEXT } } } },
    refusals: FORWARDED,
  },
];
