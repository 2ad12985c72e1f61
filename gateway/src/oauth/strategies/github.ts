// GitHub: the user, and their addresses from a separate call; the public address of the profile proves nothing.
import { Strategy } from "passport-github2";
import { type ProviderRow, rawProfile, record, type Setup, subjectOf, textOrNull } from "./strategy.js";
import { limitRequests } from "./transport.js";

class GitHubStrategy extends Strategy {
  constructor({ settings, callbackUrl, store, transport }: Setup) {
    super(
      {
        clientID: settings.clientId,
        clientSecret: settings.clientSecret,
        callbackURL: callbackUrl,
        authorizationURL: settings.authorizationUrl,
        tokenURL: settings.tokenUrl,
        userProfileURL: settings.profileUrl,
        userEmailURL: settings.emailsUrl,
        userAgent: "Portico",
        // Without `allRawEmails` the `verified` flag is lost.
        scope: ["user:email"],
        allRawEmails: true,
        pkce: true,
        store,
      },
      (_accessToken: string, _refreshToken: string, profile: object, done: Done) => done(null, profile),
    );
    limitRequests(this._oauth2, transport);
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
    const { email, emailVerified } = primaryEmail(record(profile).emails);
    return { provider: "github", subject, email, emailVerified, name: textOrNull(name) ?? textOrNull(login) };
  },
};

/** Only the primary one: the others may be old, or belong to somebody else now. */
function primaryEmail(emails: unknown): { email: string | null; emailVerified: boolean } {
  const rows: readonly unknown[] = Array.isArray(emails) ? emails : [];
  const primary = rows.map(record).find((row) => row.primary === true);
  return { email: textOrNull(primary?.value), emailVerified: primary?.verified === true };
}
