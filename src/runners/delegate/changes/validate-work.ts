import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { Egress } from "../../../core/egress.ts";
import { isPathIn } from "../../../core/path-rules.ts";
import { openBase, openBeneath } from "../../../runtime/files/open-beneath.ts";
import { PathRefused } from "../../../runtime/files/path-refused.ts";
import { SandboxUnavailable } from "../../../sandbox/sandbox.ts";
import { preparePlan, waitForProcess } from "../../run-process.ts";
import { type RunContext, RunFailure, type RunnerDeps, type StopReason } from "../../runner.ts";
import { gitEnvironment } from "../agent-command.ts";
import type { Workspace } from "../repository/workspace.ts";
import { shown } from "./find-changes.ts";

/** Throws a RunFailure for the first expected file that does not exist. */
export async function checkExpected(workspace: Workspace, expected: readonly string[]): Promise<void> {
  for (const path of expected) {
    const isChangeable = workspace.allowed.some((dir) => isPathIn(path, dir));
    const base = await openBase(isChangeable ? workspace.dir : workspace.restDir);
    try {
      await (await openBeneath(base, path)).close();
    } catch (error) {
      if (!(error instanceof PathRefused)) throw error;
      throw invalid(`the expected file ${shown(path)} is not there: ${error.message}`);
    } finally {
      await base.close();
    }
  }
}

type Check = {
  argv: readonly string[];
  workspace: Workspace;
  expected: readonly string[];
  /** Of the agent's entry: where that closes the network, the check reaches nothing at all. */
  egress: Egress | undefined;
};

/**
 * Runs the check from the worker's settings on the agent's work: in a cage of its own, with the repository read-only
 * and without the agent's variables and home. Throws a RunFailure if it fails.
 */
export async function validateWork(deps: RunnerDeps, context: RunContext, check: Check): Promise<void> {
  const attemptDir = join(context.attemptDir, "validate");
  const workDir = join(attemptDir, "work");
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const plan = await preparePlan(
    deps,
    { ...context, attemptDir, workDir, inputsDir: undefined },
    {
      argv: check.argv,
      cwd: check.workspace.cwd,
      env: { EXPECTED_ARTIFACTS: check.expected.join("\n"), ...gitEnvironment },
      mounts: check.workspace.readOnlyMounts,
      egress: check.egress,
      input: null,
    },
  );
  try {
    const running = await deps.sandbox.start(plan);
    const { exit, stoppedBy } = await waitForProcess<StopReason>(deps, context, running);
    if (stoppedBy !== undefined || (exit.exitCode === 0 && exit.spawnError === undefined)) return;
    const how = exit.spawnError?.message ?? exit.signal ?? `exit code ${exit.exitCode}`;
    const said = `${await tailOf(plan.stdoutFile)}${await tailOf(plan.stderrFile)}`.trim();
    throw invalid(`validation failed (${how})${said === "" ? "" : `: ${said}`}`);
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw invalid(`validation could not be run: ${error.message}`);
    throw error;
  }
}

function invalid(reason: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "VALIDATION_FAILED", reason);
}

const tailBytes = 400;

async function tailOf(path: string): Promise<string> {
  // A check that wrote nothing has no file.
  const file = await open(path).catch(() => null);
  if (file === null) return "";
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, tailBytes));
    await file.read(buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").toWellFormed();
  } finally {
    await file.close();
  }
}
