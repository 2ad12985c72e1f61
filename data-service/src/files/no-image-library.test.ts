// Pictures on a machine that the library has no build for.
import { expect, it, jest } from "@jest/globals";

jest.unstable_mockModule("sharp", () => {
  throw new Error("Could not load the sharp module");
});
const { measure, transform } = await import("./image-work.js");

const load = async (): Promise<Buffer> => Buffer.alloc(0);
const WISH = { width: 5, height: undefined, fit: "cover", format: "png", quality: undefined } as const;

it("can't be transformed there, and whoever wants one is told when to ask again", async () => {
  await expect(transform(load, "image/png", WISH)).rejects.toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    headers: { "Retry-After": "60" },
  });
});

it("are of unknown size there", async () => {
  expect(await measure(load, "image/png")).toBe("unknown");
});
