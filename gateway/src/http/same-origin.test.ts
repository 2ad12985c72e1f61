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

  it("names the origin that would be right", () => {
    expect(judgePage({ secFetchSite: undefined, origin: "http://127.0.0.1:3000" }, [APP])).toMatchObject({
      message: `Requests from the origin http://127.0.0.1:3000 are refused here; expected ${APP}.`,
    });
  });

  it("says how an app that proxies the API is let in", () => {
    const origin = "http://app.localhost:5173";
    expect(judgePage({ secFetchSite: "same-origin", origin }, [APP])).toMatchObject({
      message: `Requests from the origin ${origin} are refused here; expected ${APP}; if ${origin} is yours and proxies the API, add it to ALLOWED_ORIGINS.`,
    });
  });

  it("says what a page does instead that asks another origin than its own", () => {
    expect(judgePage({ secFetchSite: "same-site", origin: "http://localhost:5173" }, [APP])).toMatchObject({
      message:
        "Requests from a same-site page are refused here; let the page's own server proxy the API, or sign in by /api/auth/login and send a Bearer token.",
    });
  });
});
