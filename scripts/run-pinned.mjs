import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { delimiter } from "node:path";
import { pinnedNode, root, stateDir } from "./paths.mjs";

/** Runs a program on the pinned Node in the foreground and returns its exit status, 128+n for signal n. */
export function runPinned(args) {
  // The folder of the pinned Node goes first on the PATH, so that whatever is started below finds the same one.
  const env = { ...process.env, PATH: `${stateDir}${delimiter}${process.env.PATH ?? ""}` };
  const result = spawnSync(pinnedNode, args, { cwd: root, env, stdio: "inherit" });
  if (result.error) throw result.error;
  return result.status ?? 128 + constants.signals[result.signal];
}
