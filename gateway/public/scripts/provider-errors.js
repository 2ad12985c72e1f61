// What the page says when a provider's sign-in comes back with an `error`. Anybody can put one into a link: the page says its
// own words only.

/** By the codes of docs/oauth.md, "When it goes wrong". */
const WORDS = new Map([
  ["access_denied", "The provider was told no."],
  ["provider_error", "The provider refused, or its answer made no sense."],
  ["provider_unavailable", "It could not be finished just now; try again."],
  ["email_missing", "The provider gave no e-mail address that an account can have."],
  ["email_in_use", "The e-mail address belongs to an account here; sign in there and connect the provider."],
  ["signup_disabled", "Nobody here has this e-mail address, and new accounts are not made."],
  ["account_disabled", "The account is deactivated."],
  ["root_admin_elsewhere", "A provider that was connected elsewhere signs in no root admin."],
  ["account_in_use", "This account of the provider signs in somebody else."],
  ["session_ended", "The session that began it has ended; sign in and begin again."],
]);

export function wordsOf(error) {
  return ["Signing in with a provider did not work.", WORDS.get(error) ?? ""].join(" ").trim();
}
