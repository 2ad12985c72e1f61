// When the development provider stands in for the real ones, and the addresses under which the strategies reach it.
import type { EnvReader } from "@portico/shared/env";
import { PROVIDERS, type Provider } from "@portico/shared/oauth";
import { isLoopback } from "../../secure-address.js";
import type { ProviderSettings, Providers } from "../provider-settings.js";

/**
 * OAUTH_DEV_PROVIDER. By itself it is on only where nobody else can meet it: outside production, with no client id set,
 * on an address of this machine.
 */
export function readDevelopmentProvider(
  reader: EnvReader,
  facts: { readonly production: boolean; readonly appUrl: string; readonly providers: Providers },
): boolean {
  const isLocal = isLoopback(facts.appUrl);
  const byItself = !facts.production && isLocal && facts.providers.size === 0;
  const isOn = reader.choice("OAUTH_DEV_PROVIDER", byItself ? "on" : "off", ["on", "off"]) === "on";
  if (!isOn) return false;
  if (facts.production) {
    reader.problem(
      "OAUTH_DEV_PROVIDER must not be on when NODE_ENV is production: it lends anybody any identity.",
    );
  } else if (!isLocal) {
    reader.problem(
      `OAUTH_DEV_PROVIDER needs an APP_URL on this machine, such as http://localhost:3000, not ${facts.appUrl}.`,
    );
  } else if (facts.providers.size > 0) {
    reader.problem("OAUTH_DEV_PROVIDER stands in for all providers; remove it, or the client ids.");
  }
  return true;
}

export function developmentProviders(appUrl: string): Providers {
  return new Map(
    PROVIDERS.map((provider): [Provider, ProviderSettings] => {
      const base = `${appUrl}/api/auth/dev/${provider}`;
      const profileUrl = `${base}/${provider === "google" ? "userinfo" : "user"}`;
      return [
        provider,
        {
          clientId: "development",
          clientSecret: "development",
          authorizationUrl: `${base}/authorize`,
          tokenUrl: `${base}/token`,
          profileUrl,
          emailsUrl: `${profileUrl}/emails`,
        },
      ];
    }),
  );
}
