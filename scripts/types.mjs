// `npm run types -- [--url …] [file]`: writes the TypeScript types of the tables, as the token's user may use them.
// To standard output only with `npm run --silent`: npm writes there, too.
import { loadSettings } from "./launch.mjs";
import { readWords } from "./read-words.mjs";
import { replaceFile } from "./replace-file.mjs";
import { runScript, SetupError, WrongCall } from "./run-script.mjs";
import { notPortico, serviceUrl } from "./running-service.mjs";

const USAGE = `Use: npm run types -- [--url http://localhost:3000] <file>
or:  npm run --silent types -- [--url http://localhost:3000] > file`;

/** What the text begins with, whosever rights it shows. */
const BEGINNING = "// The tables of this Portico ";

await runScript(async () => {
  const { url, file } = readArguments();
  loadSettings();
  const types = await fetchTypes(serviceUrl(url), process.env.PORTICO_TOKEN);
  if (file !== undefined) return replaceFile(file, (handle) => handle.writeFile(types).then(() => 0));
  process.stdout.write(types);
  return 0;
});

function readArguments() {
  try {
    const { values, positionals } = readWords({ url: { type: "string" } });
    if (positionals.length > 1) throw new WrongCall(`"${positionals[1]}" is one word too many.`);
    return { url: values.url, file: positionals[0] };
  } catch (error) {
    throw error instanceof WrongCall ? new WrongCall(`${error.message}\n${USAGE}`) : error;
  }
}

/**
 * @param {string} appUrl
 * @param {string | undefined} token an API token; the types are a visitor's without one
 */
async function fetchTypes(appUrl, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const address = `${appUrl}/api/types.ts`;
  const answer = await fetch(address, { headers }).catch(() => fail(`There is no Portico at ${appUrl}.`));
  const text = await answer.text();
  if (!answer.ok) fail(`${address} answered ${answer.status}: ${text.slice(0, 500)}`);
  if (!text.startsWith(BEGINNING)) throw notPortico(address, answer.status, text);
  console.error(firstLine(text) + (token ? "" : " Set PORTICO_TOKEN to an API token for others."));
  return text;
}

/** Whose rights the types show. @param {string} text */
function firstLine(text) {
  return text.split("\n", 1)[0].replace(/^\/\/ /, "");
}

/** @returns {never} @param {string} reason */
function fail(reason) {
  throw new SetupError(reason);
}
