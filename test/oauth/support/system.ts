// A whole system with its providers, an app on another origin, and travellers who know the way between them.
import { MongoClient as Client, type MongoClient } from "mongodb";
import { type Stack, startStack } from "../../support/stack.js";
import { type FakeProviders, type ProviderName, startProviders } from "./providers.js";
import { type Journey, Traveller } from "./traveller.js";

/** An app of somebody's own. It proxies each of these prefixes to the API. */
export const CHAT = "https://chat.example.com";
export const PREFIXES = ["/api", "/portal", "/svc/api"] as const;

export interface OAuthSystem {
  readonly stack: Stack;
  readonly providers: FakeProviders;
  readonly mongo: MongoClient;
  /** @param headers that go with every request of it */
  traveller(headers?: Readonly<Record<string, string>>): Traveller;
  stop(): Promise<void>;
}

export async function startOAuthSystem(env: Readonly<Record<string, string>> = {}): Promise<OAuthSystem> {
  const providers = await startProviders();
  const settings = { ALLOWED_ORIGINS: CHAT, OAUTH_STARTS_PER_MINUTE: "0", ...env };
  const stack = await startStack({ env: { ...providers.env, ...settings } });
  const mongo = await Client.connect(stack.mongodbUrl);
  return {
    stack,
    providers,
    mongo,
    traveller: (headers) => {
      const provider = providers.oauth2.issuer.url ?? "";
      return new Traveller({ ...placesOf(stack), [provider]: provider }, headers);
    },
    async stop() {
      await mongo.close();
      await stack.stop();
      await providers.stop();
    },
  };
}

/** Where the browser's addresses really are. @param gatewayUrl another gateway of the same system */
export function placesOf(stack: Pick<Stack, "appUrl">, gatewayUrl = stack.appUrl): Record<string, string> {
  const proxied = PREFIXES.map((prefix) => [`${CHAT}${prefix}/`, `${gatewayUrl}/api/`]);
  return { [`${stack.appUrl}/`]: `${gatewayUrl}/`, ...Object.fromEntries(proxied) };
}

/** The address that begins a sign-in. */
export function startUrl(
  base: string,
  provider: ProviderName,
  redirect: string,
  cookieBridgePrefix?: string,
): string {
  const prefix = cookieBridgePrefix === undefined ? {} : { cookieBridgePrefix };
  return `${base}/auth/${provider}?${new URLSearchParams({ redirect, ...prefix })}`;
}

export const isBridge = (url: string): boolean => url.includes("/auth/set-cookies?");
export const isCallback = (url: string): boolean => url.includes("/callback?");

/** From the app's own page to its return address. */
export function signInOnApp(
  traveller: Traveller,
  { appUrl }: Pick<Stack, "appUrl">,
  provider: ProviderName,
  stopBefore?: (url: string) => boolean,
): Promise<Journey> {
  return traveller.travel(startUrl(`${appUrl}/api`, provider, `${appUrl}/after`), stopBefore);
}

/** From the chat app's page, through its proxy. */
export function signInOnChat(
  traveller: Traveller,
  provider: ProviderName,
  prefix: (typeof PREFIXES)[number] = "/portal",
  stopBefore?: (url: string) => boolean,
): Promise<Journey> {
  return traveller.travel(startUrl(CHAT + prefix, provider, `${CHAT}/after`, prefix), stopBefore);
}
