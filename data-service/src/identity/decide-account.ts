// What a provider says about somebody -> what that means for the accounts here. Decides; find-user acts. Pure.
import type { OAuthError } from "@portico/shared/oauth";

interface KnownUser {
  readonly id: string;
  readonly isActive: boolean;
  /** Nobody has ever vouched for the address of this user. */
  readonly emailUnproven: boolean;
  readonly isRootAdmin: boolean;
}

/** What is known when somebody comes back from a provider. */
export interface AccountFacts {
  /** The user whom this provider account already signs in. */
  readonly linked: KnownUser | undefined;
  /** The user who has the same e-mail address. */
  readonly owner: KnownUser | undefined;
  /** Normalised; undefined when the provider gave none. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  /** OAUTH_SIGNUP */
  readonly mayCreate: boolean;
  /** Whether the session may be that of a root admin, where the browser returns to (see auth/session). */
  readonly isForRoot: boolean;
}

export type AccountDecision =
  /** `proves`: an address for which the provider vouches, should it be the user's. */
  | { readonly kind: "use"; readonly userId: string; readonly proves: string | undefined }
  /** `takeOver`: whoever made the account never proved the address and must not keep a way in. */
  | { readonly kind: "link"; readonly userId: string; readonly email: string; readonly takeOver: boolean }
  | { readonly kind: "create"; readonly email: string }
  /** `userId`: who has proved to be somebody who may not sign in; undefined where nobody has proved to be anybody. */
  | { readonly kind: "refuse"; readonly error: OAuthError; readonly userId?: string };

/** Contract 3.4, step 4: the linked account, else a verified address, else a new user. */
export function decideAccount(facts: AccountFacts): AccountDecision {
  const { linked, owner, email, emailVerified, mayCreate } = facts;
  if (linked !== undefined) {
    const refused = refusalOf(linked, facts);
    if (refused !== undefined) return refused;
    return {
      kind: "use",
      userId: linked.id,
      proves: linked.emailUnproven && emailVerified ? email : undefined,
    };
  }
  if (email === undefined) return refuse("email_missing");
  if (owner === undefined) return mayCreate ? { kind: "create", email } : refuse("signup_disabled");
  // An address that anybody could have typed at the provider must not open anybody's account.
  if (!emailVerified) return refuse("email_in_use");
  const refused = refusalOf(owner, facts);
  return refused ?? { kind: "link", userId: owner.id, email, takeOver: owner.emailUnproven };
}

function refusalOf(
  { id, isActive, isRootAdmin }: KnownUser,
  { isForRoot }: AccountFacts,
): AccountDecision | undefined {
  if (!isActive) return { ...refuse("account_disabled"), userId: id };
  return isRootAdmin && !isForRoot ? { ...refuse("root_admin_elsewhere"), userId: id } : undefined;
}

function refuse(error: OAuthError): Extract<AccountDecision, { kind: "refuse" }> {
  return { kind: "refuse", error };
}
