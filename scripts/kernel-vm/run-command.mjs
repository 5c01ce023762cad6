import { spawnSync } from "node:child_process";

// Enough for the list of files of a package; more would be a program gone wrong.
const outputBytesMax = 64 * 1024 * 1024;

/** Runs a program to its end and returns its stdout; throws with its last output when it fails. */
export function runCommand(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: "utf8", maxBuffer: outputBytesMax, ...options });
  if (result.error) throw new Error(`${program} could not be run: ${result.error.message}`);
  if (result.status !== 0) {
    const words = String(result.stderr).trim().split("\n").slice(-3).join("; ");
    throw new Error(`${program} ${args[0] ?? ""} ended with ${result.status ?? result.signal}: ${words}`);
  }
  return result.stdout;
}
