// Checks values against the schemas of an OpenAPI document, as any client could.
import { Ajv2020 } from "ajv/dist/2020.js";
import { default as addFormats } from "ajv-formats";
import type { Row } from "../records/make.js";

/** @returns what is wrong with a value by the schema at a JSON pointer of the document; empty when nothing is */
export type Check = (pointer: string, value: unknown) => string[];

export function checksOf(document: Row): Check {
  // The document as a whole is no JSON Schema; ajv is to read only the parts it is pointed to.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  addFormats.default(ajv);
  // Of these there is none to check by.
  ajv.addFormat("idn-email", true).addFormat("iri", true);
  ajv.addSchema({ ...document, $id: "http://document/" });
  return (pointer, value) => {
    const validate = ajv.getSchema(`http://document/#${pointer}`);
    if (validate === undefined) return [`there is no schema at ${pointer}`];
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

/** A pointer of these steps. */
export function pointerTo(...steps: readonly string[]): string {
  return steps
    .map((step) => `/${encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"))}`)
    .join("");
}
