// GitHub: the user, and their addresses from a separate call; the public address of the profile proves nothing.
import { recordOf } from "@portico/shared/json";
import { Strategy } from "passport-github2";
import { type ProviderRow, rawProfile, type Setup, subjectOf, textOrNull } from "./strategy.js";
import { limitRequests } from "./transport.js";

class GitHubStrategy extends Strategy {
  readonly #emailsUrl: string;

  constructor({ settings, callbackUrl, store, transport }: Setup) {
    super(
      {
        clientID: settings.clientId,
        clientSecret: settings.clientSecret,
        callbackURL: callbackUrl,
        authorizationURL: settings.authorizationUrl,
        tokenURL: settings.tokenUrl,
        userProfileURL: settings.profileUrl,
        userAgent: "Portico",
        pkce: true,
        store,
      },
      (_accessToken: string, _refreshToken: string, profile: object, done: Done) => done(null, profile),
    );
    this.#emailsUrl = settings.emailsUrl;
    limitRequests(this._oauth2, transport);
  }

  /** Not a setting of the library: with that it asks for the addresses itself, and refuses whoever shows none. */
  override authorizationParams(): object {
    return { scope: "user:email" };
  }

  override userProfile(accessToken: string, done: (error?: Error | null, profile?: object) => void): void {
    super.userProfile(accessToken, (error, profile) => {
      if (error) return done(error);
      this._oauth2.get(this.#emailsUrl, accessToken, (refused, text) => {
        // Who is linked needs no address, so a 4xx ends no sign-in; a 5xx or 429 has ended it by now (see transport).
        const emails: unknown = refused ? [] : JSON.parse(String(text));
        if (Array.isArray(emails)) done(null, { ...profile, emails });
        else done(new Error("the addresses are no list"));
      });
    });
  }
}

type Done = (error: null, profile: object) => void;

export const github: ProviderRow = {
  provider: "github",
  strategy: (setup) => new GitHubStrategy(setup),
  identity(profile) {
    const { id, name, login } = rawProfile(profile);
    // Passport's own id would be the text "undefined" when there is none.
    const subject = subjectOf(id);
    if (subject === undefined) return undefined;
    const { email, emailVerified } = primaryEmail(recordOf(profile).emails);
    return { provider: "github", subject, email, emailVerified, name: textOrNull(name) ?? textOrNull(login) };
  },
};

/** Only the primary one: the others may be old, or belong to somebody else now. */
function primaryEmail(emails: unknown): { email: string | null; emailVerified: boolean } {
  const rows: readonly unknown[] = Array.isArray(emails) ? emails : [];
  const primary = rows.map(recordOf).find((row) => row.primary === true);
  return { email: textOrNull(primary?.email), emailVerified: primary?.verified === true };
}
