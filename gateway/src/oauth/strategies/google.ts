// Google: OpenID Connect's userinfo, which says whether the address is verified.
import { Strategy } from "passport-google-oauth20";
import { type ProviderRow, rawProfile, type Setup, subjectOf, textOrNull } from "./strategy.js";
import { limitRequests } from "./transport.js";

class GoogleStrategy extends Strategy {
  constructor({ settings, callbackUrl, store, transport }: Setup) {
    super(
      {
        clientID: settings.clientId,
        clientSecret: settings.clientSecret,
        callbackURL: callbackUrl,
        authorizationURL: settings.authorizationUrl,
        tokenURL: settings.tokenUrl,
        userProfileURL: settings.profileUrl,
        scope: ["openid", "email", "profile"],
        pkce: true,
        store,
      },
      (_accessToken, _refreshToken, profile, done) => done(null, profile),
    );
    // By default the access token would be sent in the address.
    this._oauth2.useAuthorizationHeaderforGET(true);
    limitRequests(this._oauth2, transport);
  }
}

export const google: ProviderRow = {
  provider: "google",
  strategy: (setup) => new GoogleStrategy(setup),
  identity(profile) {
    const { sub, email, email_verified, name } = rawProfile(profile);
    const subject = subjectOf(sub);
    if (subject === undefined) return undefined;
    const emailVerified = email_verified === true;
    return { provider: "google", subject, email: textOrNull(email), emailVerified, name: textOrNull(name) };
  },
};
