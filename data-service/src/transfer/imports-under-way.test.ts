// How many imports a process takes at once.
import { expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { ImportsUnderWay } from "./imports-under-way.js";

/** Imports that run until `end`. */
function makeImports() {
  const imports = new ImportsUnderWay();
  const running: Promise<void>[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const start = (count: number, caller: string): void => {
    for (let at = 0; at < count; at += 1) running.push(imports.run(caller, () => ended));
  };
  const statusFor = async (caller: string): Promise<number> => {
    const error = await imports.run(caller, async () => undefined).catch((refusal: unknown) => refusal);
    return error instanceof AppError ? error.status : 200;
  };
  const endAll = async (): Promise<void> => {
    end();
    await Promise.all(running);
  };
  return { start, statusFor, endAll };
}

it("are eight of one caller (429 beyond), whatever others do", async () => {
  const { start, statusFor, endAll } = makeImports();
  start(7, "ann");
  expect(await statusFor("ann")).toBe(200);
  start(1, "ann");
  expect([await statusFor("ann"), await statusFor("bob")]).toEqual([429, 200]);
  await endAll();
});

it("are sixteen of all callers (503 beyond)", async () => {
  const { start, statusFor, endAll } = makeImports();
  for (const caller of ["ann", "bob", "eve"]) start(5, caller);
  expect(await statusFor("ann")).toBe(200);
  start(1, "dan");
  expect([await statusFor("ann"), await statusFor("zoe")]).toEqual([503, 503]);
  await endAll();
});

it("give their place back when they end, however they end", async () => {
  const { start, statusFor, endAll } = makeImports();
  start(8, "ann");
  await endAll();
  expect(await statusFor("ann")).toBe(200);
  const imports = new ImportsUnderWay();
  for (let at = 0; at < 20; at += 1)
    await expect(imports.run("ann", () => Promise.reject(new Error("cut off")))).rejects.toThrow("cut off");
});
