import { Readable, Writable } from "node:stream";
import { createContext } from "../../src/cli/create-context.ts";
import { runJobctl } from "../../src/cli/jobctl/program.ts";
import { runWrit } from "../../src/cli/writ/program.ts";

export type CliRun = { code: number; stdout: string; stderr: string };

export type Around = {
  env: Record<string, string>;
  /** Typed at a terminal; without it there is none. */
  typed?: string;
  columns?: number;
};

/** Runs `writ` or `jobctl` in this process, which takes milliseconds. */
export async function runCli(
  program: "writ" | "jobctl",
  args: readonly string[],
  { env, typed, columns = 120 }: Around,
): Promise<CliRun> {
  const isTTY = typed !== undefined;
  const stdout = collectText(isTTY, columns);
  const stderr = collectText(isTTY, columns);
  const stdin = Object.assign(Readable.from(isTTY ? [typed] : []), { isTTY });
  const view = { argv: ["node", program, ...args], env, execPath: "", cwd: () => "/", stdin };
  const context = createContext(program, { ...view, stdout, stderr } as never);
  const code = await (program === "writ" ? runWrit(context) : runJobctl(context));
  return { code, stdout: stdout.text, stderr: stderr.text };
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
