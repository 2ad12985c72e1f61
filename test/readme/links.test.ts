// Every link in a document leads to a file that is there, and to a heading of it.
import { access, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";

const FOLDERS = [".", "docs", "docs/decisions", "docs/history", "examples"];
const CODE = /^```.*?^```|`[^`\n]*`/gms;

async function documents(): Promise<string[]> {
  const names = FOLDERS.map(async (folder) => {
    const files = await readdir(join(projectRoot, folder));
    return files.filter((name) => name.endsWith(".md")).map((name) => join(projectRoot, folder, name));
  });
  return (await Promise.all(names)).flat();
}

/** Where links into the document may lead, as GitHub names its headings. */
function anchorsIn(text: string): Set<string> {
  const headings = text.replaceAll(/^```.*?^```/gms, "").matchAll(/^#+ (.*)$/gm);
  const anchors = new Set<string>();
  for (const [, heading = ""] of headings) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const name = words.replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    let anchor = name;
    for (let again = 1; anchors.has(anchor); again += 1) anchor = `${name}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

async function problemWith(document: string, link: string): Promise<string | undefined> {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? document : join(dirname(document), path);
  const isThere = await access(target).then(
    () => true,
    () => false,
  );
  if (!isThere) return `${document}: ${link}: no such file`;
  if (anchor === undefined || anchorsIn(await readFile(target, "utf8")).has(anchor)) return undefined;
  return `${document}: ${link}: no such heading`;
}

describe("the documents", () => {
  it("link to files and headings that are there", async () => {
    const links = (await documents()).map(async (document) => {
      const text = (await readFile(document, "utf8")).replaceAll(CODE, "");
      return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => ({ document, link }));
    });
    const own = (await Promise.all(links)).flat().filter(({ link }) => !/^https?:/.test(link));
    expect(own.length).toBeGreaterThan(100);
    const problems = await Promise.all(own.map(({ document, link }) => problemWith(document, link)));
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });
});
