import { Readable } from "node:stream";
import { createContext } from "../../src/cli/create-context.ts";
import { runJobctl } from "../../src/cli/jobctl/program.ts";
import { runWrit } from "../../src/cli/writ/program.ts";

/** Runs a command as its program would, in this process: what it printed, and the code that it ends with. */
export async function runCommand(
  program: "writ" | "jobctl",
  args: string[],
  { home, cwd = home, file = program }: { home: string; cwd?: string; file?: string },
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const [out, err] = [sink(), sink()];
  const view = {
    argv: ["node", file, "--home", home, ...args],
    env: {},
    execPath: process.execPath,
    version: process.version,
    platform: process.platform,
    cwd: () => cwd,
    stdin: Readable.from([]),
    stdout: out,
    stderr: err,
  };
  const run = program === "writ" ? runWrit : runJobctl;
  const exitCode = await run(createContext(program, view as never));
  return { exitCode, stdout: out.text, stderr: err.text };
}

function sink() {
  const self = {
    isTTY: false,
    text: "",
    on: () => self,
    write(text: string): boolean {
      self.text += text;
      return true;
    },
  };
  return self;
}
