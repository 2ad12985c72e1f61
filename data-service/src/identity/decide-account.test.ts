// Whose account a provider's profile is (contract 3.4).
import { describe, expect, it } from "@jest/globals";
import { type AccountDecision, type AccountFacts, decideAccount } from "./decide-account.js";

const ADDRESS = "ann@example.com";
const ANN = { id: "ann", isActive: true, emailUnproven: false, isRootAdmin: false };
const NEWCOMER: AccountFacts = {
  linked: undefined,
  owner: undefined,
  email: ADDRESS,
  emailVerified: true,
  mayCreate: true,
  isForRoot: true,
};

describe("decideAccount", () => {
  it.each<[string, Partial<AccountFacts>, AccountDecision]>([
    ["a linked account is used", { linked: ANN }, { kind: "use", userId: "ann", proves: undefined }],
    [
      "a linked account is used, whatever the address says by now",
      { linked: ANN, email: undefined, emailVerified: false, mayCreate: false },
      { kind: "use", userId: "ann", proves: undefined },
    ],
    [
      "a linked account is used although the address belongs to another user",
      { linked: ANN, owner: { ...ANN, id: "bob" } },
      { kind: "use", userId: "ann", proves: undefined },
    ],
    [
      "B1 a linked account that nobody has proved the address of is used, and a verified address proves it",
      { linked: { ...ANN, emailUnproven: true } },
      { kind: "use", userId: "ann", proves: ADDRESS },
    ],
    [
      "B2 an unverified address proves nothing",
      { linked: { ...ANN, emailUnproven: true }, emailVerified: false },
      { kind: "use", userId: "ann", proves: undefined },
    ],
    [
      "a deactivated linked account is refused",
      { linked: { ...ANN, isActive: false } },
      { kind: "refuse", error: "account_disabled", userId: "ann" },
    ],
    ["without an address it is refused", { email: undefined }, { kind: "refuse", error: "email_missing" }],
    [
      "a verified address links its owner",
      { owner: ANN },
      { kind: "link", userId: "ann", email: ADDRESS, takeOver: false },
    ],
    [
      "B1 a verified address takes over an account whose address nobody proved",
      { owner: { ...ANN, emailUnproven: true } },
      { kind: "link", userId: "ann", email: ADDRESS, takeOver: true },
    ],
    [
      "B2 an unverified address of somebody is refused",
      { owner: ANN, emailVerified: false },
      { kind: "refuse", error: "email_in_use" },
    ],
    [
      "B2 an unverified address of a deactivated user is refused in the same words",
      { owner: { ...ANN, isActive: false }, emailVerified: false },
      { kind: "refuse", error: "email_in_use" },
    ],
    [
      "a verified address of a deactivated user is refused",
      { owner: { ...ANN, isActive: false } },
      { kind: "refuse", error: "account_disabled", userId: "ann" },
    ],
    [
      "a root admin is used and linked where root admins may sign in",
      { owner: { ...ANN, isRootAdmin: true } },
      { kind: "link", userId: "ann", email: ADDRESS, takeOver: false },
    ],
    [
      "A22 a linked root admin is refused elsewhere",
      { linked: { ...ANN, isRootAdmin: true }, isForRoot: false },
      { kind: "refuse", error: "root_admin_elsewhere", userId: "ann" },
    ],
    [
      "A22 a root admin's address is refused elsewhere before anything is linked or taken over",
      { owner: { ...ANN, isRootAdmin: true, emailUnproven: true }, isForRoot: false },
      { kind: "refuse", error: "root_admin_elsewhere", userId: "ann" },
    ],
    ["nobody else is", { linked: ANN, isForRoot: false }, { kind: "use", userId: "ann", proves: undefined }],
    ["a new address makes a user", {}, { kind: "create", email: ADDRESS }],
    ["a new unverified address makes a user", { emailVerified: false }, { kind: "create", email: ADDRESS }],
    ["no user is made without sign-up", { mayCreate: false }, { kind: "refuse", error: "signup_disabled" }],
    [
      "a verified address links without sign-up, too",
      { owner: ANN, mayCreate: false },
      { kind: "link", userId: "ann", email: ADDRESS, takeOver: false },
    ],
  ])("%s", (_name, facts, decision) => {
    expect(decideAccount({ ...NEWCOMER, ...facts })).toEqual(decision);
  });
});
