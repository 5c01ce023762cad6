import { Readable, Writable } from "node:stream";
import { createContext } from "../../src/cli/create-context.ts";
import { runJobctl } from "../../src/cli/jobctl/program.ts";
import { runWrit } from "../../src/cli/writ/program.ts";

type Program = "writ" | "jobctl";

export type CliRun = { code: number; stdout: string; stderr: string };

export type Around = {
  /** Its whole environment. */
  env: Record<string, string>;
  /** Typed at a terminal. */
  typed?: string;
  /** Whether output goes to a terminal; by default only if something is typed there. */
  isTTY?: boolean;
  columns?: number;
  /** Default: /. */
  cwd?: string;
};

/** Runs `writ` or `jobctl` in this process, which takes milliseconds. */
export function runCli(program: Program, args: readonly string[], around: Around): Promise<CliRun> {
  return startCli(program, args, around).ended;
}

/** The same, to look at what it has written so far, or to ask it to stop. */
export function startCli(program: Program, args: readonly string[], around: Around) {
  const { env, typed, isTTY = typed !== undefined, columns = 120, cwd = "/" } = around;
  const stdout = collectText(isTTY, columns);
  const stderr = collectText(isTTY, columns);
  const stdin = Object.assign(Readable.from(typed === undefined ? [] : [typed]), { isTTY });
  const { version, platform } = process;
  const view = {
    argv: ["node", program, ...args],
    env,
    execPath: "",
    cwd: () => cwd,
    version,
    platform,
    stdin,
  };
  const context = createContext(program, { ...view, stdout, stderr } as never);
  const run = program === "writ" ? runWrit : runJobctl;
  const ended = run(context).then((code): CliRun => ({ code, stdout: stdout.text, stderr: stderr.text }));
  return { stdout, stderr, stops: context.stops, ended };
}

function collectText(isTTY: boolean, columns: number) {
  const sink = Object.assign(
    new Writable({
      write(piece: Buffer, _encoding, done) {
        sink.text += piece.toString();
        done();
      },
    }),
    { isTTY, columns, text: "" },
  );
  return sink;
}
