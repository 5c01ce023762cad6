import { Readable } from "node:stream";
import type { TextSink } from "../../src/cli/context.ts";
import { createContext } from "../../src/cli/create-context.ts";
import { runJobctl } from "../../src/cli/jobctl/program.ts";

export type Ended = { exitCode: number; stdout: string; stderr: string };

type Around = { env: Record<string, string>; input?: string; isTTY?: boolean };

/** Runs jobctl in this process, with this environment and nothing else. */
export function jobctl(args: string[], around: Around): Promise<Ended> {
  return startJobctl(args, around).ended;
}

/** The same, to look at what it has written so far. */
export function startJobctl(args: string[], { env, input = "", isTTY = false }: Around) {
  const [stdout, stderr] = [collectText(isTTY), collectText(isTTY)];
  const view = { argv: ["node", "jobctl", ...args], env, execPath: "", cwd: () => "/", version: "" };
  const stdin = Readable.from([input]);
  const context = createContext("jobctl", { ...view, stdin, stdout, stderr } as never);
  const ended = runJobctl(context).then(
    (exitCode): Ended => ({ exitCode, stdout: stdout.text, stderr: stderr.text }),
  );
  return { stdout, stderr, ended };
}

function collectText(isTTY: boolean): TextSink & { text: string } {
  const sink = {
    isTTY,
    text: "",
    on: () => sink,
    write(data: string | Uint8Array): boolean {
      sink.text += Buffer.from(data as string).toString();
      return true;
    },
  };
  return sink as never;
}
