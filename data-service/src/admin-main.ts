// `npm run admin -- [e-mail]`: gives a root admin a new password, for whoever has lost it and has the database. With
// --forget-signing-keys it is for whoever has lost the ENCRYPTION_KEY.
import { ConfigError } from "@portico/shared/env";
import { changeAccount } from "./auth/change-account.js";
import { generatePassword } from "./auth/first-admin.js";
import { makeKeySealer } from "./auth/key-sealer.js";
import { isClaimLost, lostKeys } from "./auth/stored-keys.js";
import { normalizeEmail } from "./catalog/email-address.js";
import { systemTableNames } from "./catalog/system-tables.js";
import { type Config, readConfig } from "./config.js";
import { asConfigError, commandSettings, explainFailure, withDatabase } from "./database-command.js";
import type { Deps } from "./deps.js";
import { findEncryptionKey } from "./local-secrets.js";
import { connectStore } from "./mongo/connect.js";
import { makeInstanceStore } from "./mongo/instance-store.js";
import { makeKeyStore } from "./mongo/key-store.js";
import { requireDatabase } from "./mongo/open-address.js";
import { describeStore } from "./mongo/store-address.js";
import type { RootAdmin } from "./mongo/user-store.js";
import { PLAIN } from "./records/body/bind-body.js";

const USAGE = `usage: npm run admin -- [e-mail]
  gives a root admin a new password and shows it, once. An account that was switched off is switched on, and all its
  sessions end. Where there are several, the e-mail says which one.
       npm run admin -- --forget-signing-keys [--confirm]
  where the ENCRYPTION_KEY is lost for good: forgets the signing keys that the present one can't decrypt, without which no
  service starts. For whoever has stopped all services.
The database is MONGODB_URL, or the one in DATA_DIR; that one has room for one process, so the service must be stopped
first. ENCRYPTION_KEY is that of the service, if it is not in DATA_DIR.`;

const ONE_PROCESS = "The database in DATA_DIR has room for one process: stop the service first.";

const FORGETTING =
  "If their ENCRYPTION_KEY is lost for good, --confirm forgets them: everybody signs in again, and what was encrypted with " +
  "that key stays unreadable. Stop all services first.";
const RUNNING =
  "a data service that can decrypt them is running on this database: start with its ENCRYPTION_KEY, or stop all services first";

/** What the audit log knows of whoever has the database. */
const [BY, CLIENT] = [{ by: "npm run admin" }, { address: null, origin: null, userAgent: null }];

process.exitCode = await run(process.argv.slice(2)).catch(explainFailure);

async function run(words: readonly string[]): Promise<number> {
  const [email, ...rest] = words.filter((word) => word !== "--");
  if (email === "--forget-signing-keys" && ["", "--confirm"].includes(rest.join(" ")))
    return forgetKeys(readConfig(commandSettings(process.env)), rest.length > 0);
  if (rest.length > 0 || email?.startsWith("-") === true) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const config = readConfig(commandSettings(process.env));
  return withDatabase(config, ONE_PROCESS, async (deps) => {
    const admins = await deps.auth.users.listRootAdmins();
    const meant =
      email === undefined ? admins : admins.filter((each) => each.email === normalizeEmail(email));
    const [admin] = meant;
    if (admin === undefined || meant.length > 1) return explain(admins, describeStore(config));
    const password = generatePassword();
    await setPassword(deps, admin, password);
    process.stdout.write(`Root admin: ${admin.email}, new password: ${password}\n`);
    return 0;
  });
}

/** Opens the database alone: with the lost keys in it, nothing else can be opened. */
async function forgetKeys(config: Config, isConfirmed: boolean): Promise<number> {
  requireDatabase(config.mongodbUrl);
  const encryptionKey = await findEncryptionKey(config);
  const store = await connectStore(config.mongodbUrl).catch((error: unknown) => {
    throw asConfigError(error, ONE_PROCESS);
  });
  try {
    const keys = makeKeyStore(store.db);
    const sealer = encryptionKey && makeKeySealer(encryptionKey);
    const lost = await lostKeys(keys, sealer);
    const where = `of the signing keys in ${describeStore(config)}`;
    const what =
      lost.length > 0
        ? `${lost.length} ${where}`
        : `No signing key, but what the first start has sealed in ${describeStore(config)}`;
    const by =
      encryptionKey === undefined ? "no ENCRYPTION_KEY is set here" : "the ENCRYPTION_KEY here is another";
    if (lost.length === 0 && !(await isClaimLost(keys, sealer))) {
      process.stderr.write(`None ${where} is lost: nothing is forgotten.\n`);
      return 1;
    }
    if (!isConfirmed) {
      process.stderr.write(`${what} can't be decrypted: ${by}. ${FORGETTING}\n`);
      return 2;
    }
    // One that can't decrypt them does not start.
    if (await makeInstanceStore(store.db).anyLives()) throw new ConfigError([RUNNING]);
    await keys.remove(lost);
    process.stdout.write(`${what} forgotten: the next start makes others.\n`);
    return 0;
  } finally {
    await store.close();
  }
}

/**
 * As a root admin would do it: the password is hashed, sessions from before end on every instance, and the audit log tells of
 * it.
 */
async function setPassword(
  { records, auth, config }: Deps,
  { id }: RootAdmin,
  password: string,
): Promise<void> {
  const principal = { kind: "user", userId: id, roleId: null, isRootAdmin: true } as const;
  const { users: table } = systemTableNames(config.systemTablePrefix);
  const body = { password, isActive: true };
  const request = { principal, table, id, parameters: PLAIN, body };
  await changeAccount({ ...records, audit: auth.audit }, request, BY, CLIENT);
}

function explain(admins: readonly RootAdmin[], where: string): number {
  const text =
    admins.length === 0
      ? `There is no root admin yet in ${where}; the first start makes one.`
      : `The root admins are ${admins.map(({ email }) => email).join(", ")}; name one of them.`;
  process.stderr.write(`${text}\n`);
  return 2;
}
