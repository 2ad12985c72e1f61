// Which address a provider is asked at.
import { expect, it } from "@jest/globals";
import { returnStore } from "../state-store.js";
import { google } from "./google.js";

/** @returns the address at which a profile is asked for */
function askedAt(profileUrl: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fetch = async (url: string): Promise<Response> => {
      resolve(new URL(url).href);
      return Response.json({ sub: "1" });
    };
    const strategy = google.strategy({
      settings: {
        clientId: "id",
        clientSecret: "secret",
        authorizationUrl: "https://provider.example/authorize",
        tokenUrl: "https://provider.example/token",
        profileUrl,
        emailsUrl: "https://provider.example/emails",
      },
      callbackUrl: "http://localhost:3000/api/auth/google/callback",
      store: returnStore({ state: "state", codeVerifier: "verifier" }),
      transport: { fetch, signal: AbortSignal.timeout(5_000), fail: reject },
    });
    strategy.userProfile("token", () => {});
  });
}

it.each([
  "https://provider.example/userinfo",
  "http://127.0.0.1:4000/userinfo",
  "http://[::1]:4000/userinfo",
  "http://[2001:db8::7]/userinfo",
])("a provider at %s is asked there", async (address) => {
  expect(await askedAt(address)).toBe(address);
});
