import { fork, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

/**
 * Lets SQLite check the structure of the whole file, and returns what is wrong with it. That takes about a second for
 * each gigabyte, so another process does it, at a low priority. It is killed when the signal is aborted. Why: ADR 0029.
 */
export async function checkDatabase(path: string, signal: AbortSignal): Promise<string[]> {
  signal.throwIfAborted();
  const program = fileURLToPath(new URL("./quick-check.ts", import.meta.url));
  const stdio: StdioOptions = ["ignore", "ignore", "pipe", "ipc"];
  const child = fork(program, { env: {}, execArgv: [], stdio, signal, killSignal: "SIGKILL" });
  // Being aborted is an error of the child too; the end of it follows.
  child.on("error", () => {});
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const problems: string[] = [];
  let complaint = "";
  child.on("message", (lines: string[]) => problems.push(...lines));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-complaintCharsMax);
  });
  child.send(path);
  const [code] = (await once(child, "close")) as [number | null];
  signal.throwIfAborted();
  if (code === 0) return problems;
  // It could not even be opened or read to its end.
  return [`the check ended with ${code}: ${complaint.trim()}`];
}

const complaintCharsMax = 1_000;
