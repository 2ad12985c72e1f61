// A page of documentation as a test: its commands run in one shell, its printed answers are compared.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";

interface Step {
  readonly line: number;
  readonly command: string;
  /** The answer printed below the command; undefined when none is. */
  readonly answer: string | undefined;
}

const BLOCK = /^```(sh|json)\n([\s\S]*?)^```$/gm;

/** The ```sh blocks of a page, each with the ```json block that follows it directly. */
function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  let end = -1;
  for (const match of page.matchAll(BLOCK)) {
    const [whole, language, text = ""] = match;
    if (language === "sh") {
      steps.push({ line: page.slice(0, match.index).split("\n").length, command: text, answer: undefined });
    } else {
      const last = steps.pop();
      if (last === undefined || page.slice(end, match.index).trim() !== "")
        throw new Error(`stray answer: ${text}`);
      steps.push({ ...last, answer: text });
    }
    end = match.index + whole.length;
  }
  return steps;
}

/** One shell for the whole tour, as when commands are pasted. */
class Shell {
  readonly #process: ChildProcess;
  #output = "";

  constructor(cwd: string) {
    // curl and its friends are the reader's own; they need not be where the tests' Node.js is.
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/local/bin:/usr/bin:/bin` };
    this.#process = spawn("/bin/bash", ["--noprofile", "--norc"], {
      cwd,
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#process.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString();
    });
  }

  async run(command: string): Promise<string> {
    this.#output = "";
    this.#process.stdin?.write(`${command}\nprintf '\\n<<done>>\\n'\n`);
    while (!this.#output.includes("<<done>>")) {
      await once(this.#process.stdout ?? this.#process, "data");
    }
    return this.#output.slice(0, this.#output.indexOf("<<done>>")).trim();
  }

  async end(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.stdin?.end();
    await ended;
  }
}

/** Replaces in the answer what the page marks as `"…"`, so that the rest can be compared as text. */
function blank(answer: unknown, pattern: unknown): unknown {
  if (pattern === "…") return typeof answer === "string" || typeof answer === "number" ? "…" : answer;
  if (Array.isArray(answer) && Array.isArray(pattern))
    return answer.map((each, at) => blank(each, pattern[at]));
  if (typeof answer !== "object" || answer === null || typeof pattern !== "object" || pattern === null)
    return answer;
  const known = new Map<string, unknown>(Object.entries(pattern));
  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [key, blank(value, known.get(key))]),
  );
}

/** @param page its path in the project */
export async function describeTour(
  page: string,
  options: { readonly demo: boolean; readonly least: number },
): Promise<void> {
  const steps = stepsOf(await readFile(join(projectRoot, page), "utf8"));
  describe(`the commands of ${page}`, () => {
    let stack: Stack;
    let shell: Shell;
    let folder: string;

    beforeAll(async () => {
      stack = await startStack({ demo: options.demo });
      folder = await mkdtemp(join(tmpdir(), "portico-readme-"));
      shell = new Shell(folder);
    });

    afterAll(async () => {
      await shell?.end();
      await stack?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    test("has steps to run", () => expect(steps.length).toBeGreaterThan(options.least));

    test.each(steps)("line $line: $command", async ({ command, answer }) => {
      const here = command
        .replace("http://localhost:3000", stack.appUrl)
        .replace("the password that npm start printed", stack.admin.password);
      const output = await shell.run(here);
      if (answer === undefined) {
        expect(output).toBe("");
        return;
      }
      const printed: unknown = JSON.parse(answer);
      expect(JSON.stringify(blank(JSON.parse(output), printed))).toBe(JSON.stringify(printed));
    });
  });
}
