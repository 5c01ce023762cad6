import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { runCommand } from "../support/run-command.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();

type Made = { folder: string; type: string; next: [copy: string, ...more: string[]]; note?: string };

/** Makes a worker in a folder that jobs see, and gives the words of the last command that it prints. */
async function make(lang: string): Promise<string[]> {
  const cwd = join(stage.programs, lang);
  mkdirSync(cwd);
  const made = await runCommand("writ", ["new", "worker", "greet-me", "--lang", lang, "--json"], {
    home: stage.hub.home,
    cwd,
  });
  expect(made).toMatchObject({ exitCode: 0, stderr: "" });
  const { type, next, note } = JSON.parse(made.stdout) as Made;
  expect(type).toBe("greet-me.v1");
  expect(next[0]).toMatch(/cp -r greet-me \/opt\/$/);
  expect(note === undefined).toBe(next.length === 2);
  // Where the machine has no Node for it, the one that runs writ is copied too.
  const here = (text: string) => text.replaceAll("/opt/", `${cwd}/`);
  if (next.length === 3) execFileSync("sh", ["-c", here(next[1]!).replace(/^sudo /, "")]);
  const port = String(await freePort());
  return [...here(next.at(-1)!).matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = ""]) => {
    if (quoted !== undefined) return quoted;
    return plain === "8101" ? port : plain;
  });
}

test.each(["js", "ts", "python", "sh"])("a new worker in %s works as it is, through a hub", async (lang) => {
  await stage.startWorker();
  const [program, ...words] = await make(lang);
  expect(program).toMatch(/(?:^|\/)jobctl$/);
  // Without waiting for it: the test does that.
  const submission = words.map((word) => (word === "--wait" ? "--json" : word));
  const submitted = await runCommand("jobctl", submission, { home: stage.hub.home });
  expect(submitted).toMatchObject({ exitCode: 0, stderr: "" });
  const { job_id: id } = JSON.parse(submitted.stdout) as { job_id: string };
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { greeting: "hello Ada" } });
  expect(await stage.output(id)).toMatch(/^greeting Ada\n/);
});

test.each(["", "-x", "a/b", "..", "x".repeat(65)])("the name %j is refused", async (name) => {
  const made = await runCommand("writ", ["new", "worker", "--", name], { home: stage.hub.home });
  expect(made).toMatchObject({ exitCode: 2, stdout: "" });
  expect(made.stderr).toMatch(/^writ: name: /);
});

test("a folder that exists is left alone", async () => {
  const cwd = stage.programs;
  mkdirSync(join(cwd, "taken"));
  const made = await runCommand("writ", ["new", "worker", "taken"], { home: stage.hub.home, cwd });
  expect(made).toMatchObject({ exitCode: 2 });
  expect(made.stderr).toContain("name: taken exists already; choose another name");
});
