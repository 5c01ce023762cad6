import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Egress } from "../../core/egress.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { inputsName, preparePlan, waitForProcess } from "../run-process.ts";
import { type RunContext, RunFailure, type RunnerDeps, type StopReason } from "../runner.ts";
import { gitEnvironment } from "./agent-command.ts";
import type { Workspace } from "./repository/workspace.ts";

/**
 * Puts the diff of an earlier job into the copy before the agent begins. Git does it in a cage, where only the allowed paths
 * can change: what the diff names is not trusted. Throws a RunFailure if the files no longer fit it. Why: ADR 0146.
 */
export async function applyEarlier(
  deps: RunnerDeps,
  context: RunContext,
  { workspace, path, egress }: { workspace: Workspace; path: string | undefined; egress: Egress | undefined },
): Promise<void> {
  if (path === undefined) return;
  if (workspace.kind === "in-place")
    throw refused("the diff of an earlier job is not put into a repository itself");
  const attemptDir = join(context.attemptDir, "apply");
  const workDir = join(attemptDir, "work");
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const inside = deps.sandbox.workDirInside(workDir);
  // Without a cage the inputs are in the agent's own folder by now.
  const isCaged = inside !== workDir;
  const file = join(isCaged ? inside : context.workDir, inputsName, path);
  const plan = await preparePlan(
    deps,
    { ...context, attemptDir, workDir, ...(isCaged ? {} : { inputsDir: undefined }) },
    {
      argv: ["git", "apply", "--whitespace=nowarn", file],
      cwd: workspace.cwd,
      // The copy is the top, even where it lies inside of another repository.
      env: { ...gitEnvironment, GIT_CEILING_DIRECTORIES: dirname(workspace.cwd), LC_ALL: "C" },
      mounts: workspace.mounts,
      egress,
      input: null,
    },
  );
  try {
    const running = await deps.sandbox.start(plan);
    const { exit, stoppedBy } = await waitForProcess<StopReason>(deps, context, running);
    if (stoppedBy !== undefined || (exit.exitCode === 0 && exit.spawnError === undefined)) return;
    const why = exit.spawnError?.message ?? (await beginningOf(plan.stderrFile));
    throw refused(`the diff of the earlier job does not fit the repository as it is now: ${why}`);
  } catch (error) {
    if (error instanceof SandboxUnavailable)
      throw refused(`the earlier diff could not be applied: ${error.message}`);
    throw error;
  }
}

function refused(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

const shownBytes = 400;

async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(shownBytes);
    const { bytesRead } = await file.read(buffer, 0, shownBytes, 0);
    return buffer.toString("utf8", 0, bytesRead).toWellFormed().trim();
  } finally {
    await file.close();
  }
}
