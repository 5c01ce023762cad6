import type { ChildProcess } from "node:child_process";

const text = "x".repeat(200);

/** The process that every rival runs. */
export const processArgv = ["/bin/echo", text];
export const processOutputBytes = text.length + 1;

/**
 * How often a rival is asked whether all processes have ended. Asking takes time that the processes do not have. A run
 * takes seconds, so what this adds to it is about a hundredth.
 */
export const processLookMs = 25;

/** What the process wrote, once it has ended well. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout!.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  child.stderr!.resume();
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code !== 0 || output.length !== processOutputBytes) throw new Error(`the process ended with ${code}`);
  return output;
}
