import { writeFileSync } from "node:fs";
import { apiOf, asAdmin } from "./dist/support/api.js";
import { startStack } from "./dist/support/stack.js";

const stack = await startStack({ demo: true });
try {
  const admin = await asAdmin(stack);
  const t0 = performance.now();
  const doc = await admin.get("/openapi.json");
  console.log(doc.status, performance.now() - t0);
  writeFileSync("/tmp/oa-root.json", JSON.stringify(doc.body, null, 1));
  const anon = apiOf(`${stack.appUrl}/api`);
  writeFileSync("/tmp/oa-anon.json", JSON.stringify((await anon.get("/openapi.json")).body, null, 1));
  for (const [n, h] of [
    ["root", admin],
    ["anon", anon],
  ]) {
    const r = await h.send("GET", "/types.ts").catch((e) => e);
    console.log(n, r.message?.slice(0, 60));
  }
  const { accessToken } = (await anon.post("/auth/login", stack.admin)).body;
  writeFileSync(
    "/tmp/types-root.ts",
    await (
      await fetch(`${stack.appUrl}/api/types.ts`, { headers: { Authorization: `Bearer ${accessToken}` } })
    ).text(),
  );
  writeFileSync("/tmp/types-anon.ts", await (await fetch(`${stack.appUrl}/api/types.ts`)).text());
  writeFileSync("/tmp/meta-root.json", JSON.stringify((await admin.get("/metadata/posts")).body, null, 1));
  console.log((await anon.get("/metadata/nope")).body, (await anon.get("/metadata")).body.data.length);
} finally {
  await stack.stop();
}
