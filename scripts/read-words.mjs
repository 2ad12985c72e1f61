// The words of a script's command line, for those that take options.
import { parseArgs } from "node:util";
import { WrongCall } from "./run-script.mjs";

/**
 * As Node.js reads them; npm's `--` counts for nothing.
 * @param {import("node:util").ParseArgsConfig["options"]} options
 * @throws WrongCall for an option that is none, or lacks its value
 */
export function readWords(options) {
  const args = process.argv.slice(2).filter((word) => word !== "--");
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // What Node.js says after its first sentence is of no help here.
    throw new WrongCall(`${error.message.split(/\.\s|\n/, 1)[0].replace(/\.$/, "")}.`);
  }
}
