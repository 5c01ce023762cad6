import { Writable } from "node:stream";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { createContext } from "./create-context.ts";
import { runJobctl } from "./jobctl/program.ts";
import { runWrit } from "./writ/program.ts";

async function run(program: "writ" | "jobctl", ...words: string[]): Promise<string> {
  let text = "";
  const sink = new Writable({
    write(piece: Buffer, _encoding, done) {
      text += piece.toString();
      done();
    },
  });
  const { version, platform } = process;
  const view = {
    argv: ["node", program, ...words],
    env: {},
    execPath: "",
    cwd: () => "/",
    version,
    platform,
  };
  const context = createContext(program, { ...view, stdin: sink, stdout: sink, stderr: sink } as never);
  await (program === "writ" ? runWrit(context) : runJobctl(context));
  return text.replaceAll(/\s+/g, " ");
}

test.each([
  [
    ["tokens", "issue", "--role", "viewer", "--tenant", "x!"],
    "option '--tenant <id>' argument 'x!' is invalid",
  ],
  [
    ["certs", "issue", "--user", "a", "--out", "/x", "--tenant", "ab"],
    "It must be 3 to 50 letters, digits or _",
  ],
])("writ %j is refused with the name of the option and what is allowed", async (words, message) => {
  expect(await run("writ", ...words)).toContain(message);
});

test.each(["run", "start"])("%s without a command names itself in its example", async (command) => {
  expect(await run("jobctl", command)).toContain(`for example: jobctl ${command} echo hello`);
});

test("the help of a command says where an option stands that the program has too", async () => {
  const text = await run("jobctl", "list", "--help");
  expect(text).toContain("--user <name> only jobs of this user");
  expect(text).toContain("--user <name> if given before `list`, act with this user's client certificate");
  expect(text).toContain("--cert <file> act with this client certificate");
});

test.each(["writ", "jobctl"] as const)("%s has the version of the package", async (program) => {
  expect(await run(program, "--version")).toBe(`${manifest.version} `);
});

test("the help of a backup says how long its passphrase must be", async () => {
  expect(await run("writ", "backup", "--help")).toContain("a passphrase of at least 12 characters");
});
