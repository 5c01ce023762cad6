import { lstat, realpath } from "node:fs/promises";
import { makeDir } from "../../runtime/files/make-dir.ts";
import type { JobMount } from "../../sandbox/sandbox.ts";
import type { RunContext, RunnerDeps } from "../runner.ts";
import type { AgentEntry } from "./delegate-settings.ts";

/**
 * The agent's home, at its own path, where it may write: it keeps its log-in and its settings there. It is the only
 * directory of the worker that an agent sees beside the repository.
 */
export async function homeMount(
  { sandbox }: Pick<RunnerDeps, "sandbox">,
  { workDir }: Pick<RunContext, "workDir">,
  { home }: AgentEntry,
): Promise<JobMount[]> {
  if (home === undefined) return [];
  makeDir(home);
  // Without a cage it needs no mount.
  if (sandbox.workDirInside(workDir) === workDir) return [];
  const source = await realpath(home);
  const { uid, gid } = await lstat(source);
  return [{ source, target: home, access: "writable", idmapped: { uid, gid } }];
}
