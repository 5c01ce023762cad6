import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { createContext } from "../create-context.ts";
import { confirm } from "./confirm.ts";

const question = "Do it?";

function atTerminal(typed: string) {
  const { version, platform } = process;
  const sink = () =>
    Object.assign(new Writable({ write: (_piece, _encoding, done) => done() }), { isTTY: true });
  const stdin = Object.assign(Readable.from([typed]), { isTTY: true });
  const view = { argv: ["node", "jobctl"], env: {}, execPath: "", cwd: () => "/", version, platform };
  return createContext("jobctl", { ...view, stdin, stdout: sink(), stderr: sink() } as never);
}

test.each(["n\n", "\n", "yep\n", ""])(
  "any answer but yes, such as %j, makes the command end with 1",
  async (typed) => {
    const context = atTerminal(typed);
    expect(await confirm(context, { question, yes: undefined })).toBe(false);
    expect(context.exitCode).toBe(1);
  },
);

test("an act that is confirmed leaves the exit code to the command", async () => {
  for (const [typed, yes] of [
    ["y\n", undefined],
    ["YES\n", undefined],
    ["", true],
  ] as const) {
    const context = atTerminal(typed);
    expect(await confirm(context, { question, yes })).toBe(true);
    expect(context.exitCode).toBe(0);
  }
});
