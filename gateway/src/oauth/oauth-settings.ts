// What the OAuth routes work with: each configured provider's row and settings, and how providers are asked.
import type { Provider } from "@portico/shared/oauth";
import type { ProviderSettings, Providers } from "./provider-settings.js";
import { facebook } from "./strategies/facebook.js";
import { github } from "./strategies/github.js";
import { google } from "./strategies/google.js";
import type { ProviderRow } from "./strategies/strategy.js";
import type { ProviderFetch } from "./strategies/transport.js";

/** A fourth provider is a row here, one in `PROVIDERS`, its addresses, and its strategy. */
const ROWS: Readonly<Record<Provider, ProviderRow>> = { google, facebook, github };

export interface ConfiguredProvider {
  readonly row: ProviderRow;
  readonly settings: ProviderSettings;
  /** Exactly this has to be registered with the provider. */
  readonly callbackUrl: string;
}

export interface OAuthSettings {
  /** In the order in which they are offered. */
  readonly providers: readonly Provider[];
  /** @throws Error for a provider that is not configured: its routes do not exist */
  of(provider: Provider): ConfiguredProvider;
  readonly fetch: ProviderFetch;
  /** For token and profile together. */
  readonly timeoutMs: number;
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
      return { row: ROWS[provider], settings, callbackUrl: `${appUrl}/api/auth/${provider}/callback` };
    },
    fetch,
    timeoutMs,
  };
}
