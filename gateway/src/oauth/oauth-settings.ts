// What the OAuth routes work with: each configured provider's row and settings, and how providers are asked.
import type { Provider } from "@portico/shared/oauth";
import type { Providers } from "./provider-settings.js";
import { facebook } from "./strategies/facebook.js";
import { github } from "./strategies/github.js";
import { google } from "./strategies/google.js";
import type { ConfiguredProvider, ProviderRow } from "./strategies/strategy.js";
import type { ProviderFetch } from "./strategies/transport.js";

/** A fourth provider is a row here, one in `PROVIDERS`, its addresses, and its strategy. */
const ROWS: Readonly<Record<Provider, ProviderRow>> = { google, facebook, github };

export interface OAuthSettings {
  /** In the order in which they are offered. */
  readonly providers: readonly Provider[];
  /** @throws Error for a provider that is not configured: its routes do not exist */
  of(provider: Provider): ConfiguredProvider;
}

export function makeOAuthSettings(
  appUrl: string,
  providers: Providers,
  fetch: ProviderFetch,
  timeoutMs: number,
): OAuthSettings {
  return {
    providers: [...providers.keys()],
    of(provider) {
      const settings = providers.get(provider);
      if (settings === undefined) throw new Error(`${provider} is not configured`);
      const callbackUrl = `${appUrl}/api/auth/${provider}/callback`;
      return { row: ROWS[provider], settings, callbackUrl, fetch, timeoutMs };
    },
  };
}
