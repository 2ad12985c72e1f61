// What a person sees once everything runs: where it is, how to get in, where the data lies, how to stop.

/**
 * @param {NodeJS.ProcessEnv} env the settings the services run with
 * @param {{ type: string }[]} messages all the services have told
 */
export function banner(env, messages) {
  const store = messages.find(({ type }) => type === "store");
  const rows = [
    ...adminRows(env, messages),
    ...(store === undefined ? [] : [["Data", store.description]]),
    ["Stop", "Ctrl-C"],
  ];
  const lines = rows.map(([label, text]) => `  ${label.padEnd(12)}${text}`);
  return `\n  Portico is running at ${env.APP_URL || "http://localhost:3000"}\n\n${lines.join("\n")}\n\n`;
}

function adminRows(env, messages) {
  const made = messages.find(({ type }) => type === "first-admin");
  if (made === undefined) {
    return [["Root admin", `${env.ADMIN_EMAIL || "admin@example.com"} (the password is set)`]];
  }
  return [
    ["Root admin", made.email],
    ["Password", `${made.password}   (shown this once)`],
  ];
}
