import { Readable } from "node:stream";
import type { TextSink } from "../../src/cli/context.ts";
import { createContext } from "../../src/cli/create-context.ts";
import { runJobctl } from "../../src/cli/jobctl/program.ts";

export type Ended = { exitCode: number; stdout: string; stderr: string };

/** Runs jobctl in this process, with this environment and nothing else. */
export async function jobctl(
  args: string[],
  { env, input = "", isTTY = false }: { env: Record<string, string>; input?: string; isTTY?: boolean },
): Promise<Ended> {
  const [stdout, stderr] = [collectText(isTTY), collectText(isTTY)];
  const view = { argv: ["node", "jobctl", ...args], env, execPath: "", cwd: () => "/", version: "" };
  const stdin = Readable.from([input]);
  const context = createContext("jobctl", { ...view, stdin, stdout, stderr } as never);
  const exitCode = await runJobctl(context);
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
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
