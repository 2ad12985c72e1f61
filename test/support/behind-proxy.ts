// A system whose commands to the database a test can hold up or lose, alone or beside one that nothing holds up.
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin } from "./api.js";
import { type CommandProxy, startCommandProxy } from "./command-proxy.js";
import { freshDatabase, type Stack, startStack } from "./stack.js";

export interface BehindProxy {
  readonly stack: Stack;
  readonly proxy: CommandProxy;
  /** Its database, as it is without the proxy. */
  readonly db: Db;
  stop(): Promise<void>;
}

/**
 * @param beside another stack of the same system
 * @param env settings of the one behind the proxy
 */
export async function startBehindProxy(
  beside?: Stack,
  env: Readonly<Record<string, string>> = {},
): Promise<BehindProxy> {
  const direct = beside?.mongodbUrl ?? freshDatabase();
  const proxy = await startCommandProxy(direct);
  const { mongodbUrl } = proxy;
  const stack = await startStack(
    beside === undefined ? { mongodbUrl, env } : { twinOf: beside, env: { ...env, MONGODB_URL: mongodbUrl } },
  );
  const client = await MongoClient.connect(direct);
  return {
    stack,
    proxy,
    db: client.db(),
    stop: async () => {
      proxy.decide(() => "pass");
      await client.close();
      await stack.stop();
      await proxy.close();
    },
  };
}

/** Two instances of one system, for the root admin: one that nothing holds up, and one whose commands can be. */
export interface QuickAndSlow {
  readonly api: Api;
  readonly held: BehindProxy;
  readonly slow: Api;
  stop(): Promise<void>;
}

/** @param env settings of both */
export async function startQuickAndSlow(env: Readonly<Record<string, string>> = {}): Promise<QuickAndSlow> {
  const quick = await startStack({ env });
  const held = await startBehindProxy(quick, env);
  return {
    api: await asAdmin(quick),
    held,
    slow: await asAdmin(held.stack),
    stop: async () => {
      await held.stop();
      await quick.stop();
    },
  };
}
