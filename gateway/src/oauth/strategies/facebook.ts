// Facebook: the Graph API, which does not say whether an address is verified.
import { Strategy } from "passport-facebook";
import { type ProviderRow, rawProfile, type Setup, subjectOf, textOrNull } from "./strategy.js";
import { limitRequests } from "./transport.js";

class FacebookStrategy extends Strategy {
  constructor({ settings, callbackUrl, store, transport }: Setup) {
    super(
      {
        clientID: settings.clientId,
        clientSecret: settings.clientSecret,
        callbackURL: callbackUrl,
        authorizationURL: settings.authorizationUrl,
        tokenURL: settings.tokenUrl,
        profileURL: settings.profileUrl,
        scope: ["email", "public_profile"],
        pkce: true,
        store,
        // A stolen access token alone is of no use; and without a list of fields there is no e-mail.
        enableProof: true,
        profileFields: ["id", "emails", "displayName"],
      },
      (_accessToken, _refreshToken, profile, done) => done(null, profile),
    );
    limitRequests(this._oauth2, transport);
  }
}

export const facebook: ProviderRow = {
  provider: "facebook",
  // `#_=_`
  addsFragment: true,
  strategy: (setup) => new FacebookStrategy(setup),
  identity(profile) {
    const { id, email, name } = rawProfile(profile);
    const subject = subjectOf(id);
    if (subject === undefined) return undefined;
    // There is no flag, so it counts as unverified (security row B2).
    return {
      provider: "facebook",
      subject,
      email: textOrNull(email),
      emailVerified: false,
      name: textOrNull(name),
    };
  },
};
