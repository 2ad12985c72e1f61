// The CSRF rule: which pages a request may come from (contract 3.3).
import { describe, expect, it } from "@jest/globals";
import { judgePage } from "./same-origin.js";

const APP = "https://app.example.com";

describe("judgePage", () => {
  it.each([
    [undefined, undefined, "accepted"],
    ["same-origin", APP, "accepted"],
    ["same-origin", undefined, "accepted"],
    ["none", undefined, "accepted"],
    [undefined, APP, "accepted"],
    ["same-site", APP, "refused"],
    ["cross-site", undefined, "refused"],
    ["cross-site", APP, "refused"],
    ["", undefined, "refused"],
    ["same-origin, cross-site", APP, "refused"],
    ["Same-Origin", APP, "refused"],
    ["same-origin", "null", "refused"],
    [undefined, "null", "refused"],
    [undefined, "", "refused"],
    [undefined, "https://evil.com", "refused"],
    [undefined, `${APP}.evil.com`, "refused"],
    [undefined, `${APP}:8443`, "refused"],
    [undefined, `${APP}/`, "refused"],
    [undefined, "http://app.example.com", "refused"],
    [undefined, `${APP}, https://evil.com`, "refused"],
  ])("Sec-Fetch-Site %p with Origin %p is %s", (secFetchSite, origin, kind) => {
    expect(judgePage({ secFetchSite, origin }, [APP]).kind).toBe(kind);
  });

  it.each([undefined, "same-origin"])(
    "names the origin that would be right, and how another one is let in (Sec-Fetch-Site %p)",
    (secFetchSite) => {
      const origin = "http://127.0.0.1:3000";
      expect(judgePage({ secFetchSite, origin }, [APP])).toMatchObject({
        message: `Requests from the origin ${origin} are refused here; expected ${APP}; open that address instead, or set APP_URL where ${origin} is Portico's own; if it is an app's that proxies the API, add it to ALLOWED_ORIGINS.`,
      });
    },
  );

  it.each([
    [undefined, `expected ${APP}`],
    ["it is not this one", "it is not this one"],
  ])("says what makes a form hide where its page is (reason %p)", (reason, told) => {
    expect(judgePage({ secFetchSite: "same-origin", origin: "null" }, [APP], reason)).toMatchObject({
      message: `Requests from the origin null are refused here; ${told}; a form says null where its page has Referrer-Policy: no-referrer, so let the page have same-origin instead.`,
    });
  });

  it("says what a page does instead that asks another origin than its own", () => {
    expect(judgePage({ secFetchSite: "same-site", origin: "http://localhost:5173" }, [APP])).toMatchObject({
      message:
        "Requests from a same-site page are refused here; let the page's own server proxy the API, or sign in by /api/auth/login and send a Bearer token.",
    });
  });
});
