import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { delimiter } from "node:path";
import { pinnedNode, root, stateDir } from "./paths.mjs";

/** Runs a program on the pinned Node in the foreground and resolves to its exit status, 128+n for signal n. */
export async function runPinned(args) {
  // The folder of the pinned Node goes first on the PATH, so that whatever is started below finds the same one.
  const env = { ...process.env, PATH: `${stateDir}${delimiter}${process.env.PATH ?? ""}` };
  const child = spawn(pinnedNode, args, { cwd: root, env, stdio: "inherit" });
  const [status, signal] = await once(child, "exit");
  return status ?? 128 + constants.signals[signal];
}
