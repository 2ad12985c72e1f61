// Posts that can be followed, and their comments, for everybody.
import type { Api } from "../../support/api.js";
import { allowAll } from "../../support/rules.js";
import { makeTable } from "../records/make.js";

export async function makePostsWithComments(admin: Api): Promise<void> {
  const columns = [{ name: "title", type: "string" }];
  await makeTable(admin, { name: "posts", idType: "int", changes: true, columns });
  const post = { name: "post", type: "many-to-one", table: "posts", inverse: "comments" };
  const text = [{ name: "text", type: "text" }];
  await makeTable(admin, { name: "comments", idType: "int", columns: text, relations: [post] });
  await allowAll(admin, ["posts", "comments"], null);
}
