// What a person sees once everything runs: where it is, how to get in, where the data lies, how to stop.

/**
 * @param {NodeJS.ProcessEnv} env the settings the services run with
 * @param {{ type: string }[]} messages all the services have told
 */
export function banner(env, messages) {
  const store = messages.find(({ type }) => type === "store");
  const rows = [
    ...adminRows(messages, env),
    ...(store === undefined ? [] : [["Data", store.description]]),
    ["Stop", "Ctrl-C"],
  ];
  return `\n  Portico is running at ${env.APP_URL || "http://localhost:3000"}\n\n${asLines(rows)}\n${apps(messages)}`;
}

/** Apps beside Portico come last: they are what whoever started them wants to open. */
function apps(messages) {
  return messages
    .filter(({ type }) => type === "app")
    .map(({ description }) => `  ${description}\n\n`)
    .join("");
}

/**
 * The same of the root admin where not everything came to run: the next start will know nothing of the password. Empty
 * where none was made.
 * @param {{ type: string }[]} messages
 */
export function firstAdmin(messages) {
  const isMade = messages.some(({ type }) => type === "first-admin");
  return isMade ? `\n  Not running yet, but this was made:\n\n${asLines(adminRows(messages, {}))}\n` : "";
}

function asLines(rows) {
  return rows.map(([label, text]) => `  ${label.padEnd(12)}${text}\n`).join("");
}

function adminRows(messages, env) {
  const made = messages.find(({ type }) => type === "first-admin");
  // It may have another address by now, and be one of several.
  const before = env.ADMIN_PASSWORD ? "as before; at the first start that of ADMIN_PASSWORD" : "as before";
  if (made === undefined) return [["Root admin", `${before}; a lost password: npm run admin`]];
  return [
    ["Root admin", made.email],
    ["Password", `${made.password}   (shown this once)`],
  ];
}
