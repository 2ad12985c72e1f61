// The providers' settings: ids and secrets from the environment, addresses with the providers' own as defaults.
import type { EnvReader } from "@portico/shared/env";
import { PROVIDERS, type Provider } from "@portico/shared/oauth";
import { requireSecure } from "../secure-address.js";

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly profileUrl: string;
  /** Only GitHub has its addresses elsewhere. */
  readonly emailsUrl: string;
}

export type Providers = ReadonlyMap<Provider, ProviderSettings>;

type Addresses = Pick<ProviderSettings, "authorizationUrl" | "tokenUrl" | "profileUrl">;

/** Named, because the library's own default is long retired. */
const GRAPH = "v24.0";

const ADDRESSES: Readonly<Record<Provider, Addresses>> = {
  google: {
    authorizationUrl: "https://accounts.google.com/o/oauth2/v2/auth",
    tokenUrl: "https://oauth2.googleapis.com/token",
    profileUrl: "https://openidconnect.googleapis.com/v1/userinfo",
  },
  facebook: {
    authorizationUrl: `https://www.facebook.com/${GRAPH}/dialog/oauth`,
    tokenUrl: `https://graph.facebook.com/${GRAPH}/oauth/access_token`,
    profileUrl: `https://graph.facebook.com/${GRAPH}/me`,
  },
  github: {
    authorizationUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    profileUrl: "https://api.github.com/user",
  },
};

/** The providers with a client id, in the order in which they are offered. */
export function readProviders(reader: EnvReader, production: boolean): Providers {
  const configured = PROVIDERS.flatMap((provider): [Provider, ProviderSettings][] => {
    const settings = readProvider(reader, provider, production);
    return settings === undefined ? [] : [[provider, settings]];
  });
  return new Map(configured);
}

function readProvider(
  reader: EnvReader,
  provider: Provider,
  production: boolean,
): ProviderSettings | undefined {
  const name = provider.toUpperCase();
  const [clientId, clientSecret] = [
    reader.optional(`${name}_CLIENT_ID`),
    reader.optional(`${name}_CLIENT_SECRET`),
  ];
  const { authorizationUrl, tokenUrl, profileUrl } = ADDRESSES[provider];
  const address = (which: string, fallback: string): string =>
    readAddress(reader, `${name}_${which}_URL`, fallback, production);
  const addresses = {
    authorizationUrl: address("AUTHORIZATION", authorizationUrl),
    tokenUrl: address("TOKEN", tokenUrl),
    profileUrl: address("PROFILE", profileUrl),
  };
  if (clientId === undefined && clientSecret === undefined) return undefined;
  if (clientId === undefined || clientSecret === undefined) {
    const missing = clientId === undefined ? "ID" : "SECRET";
    reader.problem(
      `${name}_CLIENT_${missing} is missing: set both ${name}_CLIENT_ID and ${name}_CLIENT_SECRET.`,
    );
    return undefined;
  }
  return { clientId, clientSecret, ...addresses, emailsUrl: `${addresses.profileUrl}/emails` };
}

function readAddress(reader: EnvReader, name: string, fallback: string, production: boolean): string {
  const text = reader.text(name, fallback);
  if (URL.canParse(text)) {
    const { protocol, hash, username } = new URL(text);
    if ((protocol === "https:" || protocol === "http:") && hash === "" && username === "") {
      requireSecure(reader, name, text, production);
      return text;
    }
  }
  reader.problem(`${name} must be an http(s) address such as ${fallback}, not "${text}".`);
  return fallback;
}
