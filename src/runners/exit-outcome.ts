import { constants } from "node:os";
import { isProgramDir, workDirInCage } from "../sandbox/cage-mounts.ts";
import type { Isolation, ProcessExit, SpawnError } from "../sandbox/sandbox.ts";
import type { ReadResult } from "./read-result.ts";
import {
  outputLimitReason,
  type RunOutcome,
  type StopReason,
  stoppedOutcome,
  type TimedAttempt,
} from "./runner.ts";

export type EndedProcess = {
  argv: readonly string[];
  exit: ProcessExit;
  /** Set when it was ended from outside. */
  stoppedBy: StopReason | undefined;
  result: ReadResult;
  isolation: Isolation;
};

type Failed = Extract<RunOutcome, { kind: "failed" }>;

/** The outcome of a job from the end of its process. */
export function exitOutcome(context: TimedAttempt, ended: EndedProcess): RunOutcome {
  const { exit, stoppedBy, result, isolation } = ended;
  const facts = { usage: exit.usage, isolation };
  if (exit.spawnError !== undefined) return { ...spawnFailure(ended, exit.spawnError), ...facts };

  const partial = result.kind === "found" ? { partialResultJson: result.json } : {};
  if (stoppedBy !== undefined) {
    const outcome = stoppedOutcome(stoppedBy, context);
    if (outcome.kind !== "failed") return outcome;
    const why = stoppedBy === "timeout" && exit.unwritten !== undefined ? `; ${exit.unwritten}` : "";
    return {
      ...outcome,
      reason: outcome.reason + why,
      ...(stoppedBy === "cancelled" ? codeOf(exit) : {}),
      ...partial,
      ...facts,
    };
  }
  // It may have done anything by then, so it is charged like every attempt that was begun.
  if (exit.lost !== undefined)
    return { kind: "failed", code: "WORKER_DISCONNECTED", reason: exit.lost, ...partial, ...facts };
  if (exit.unwritten !== undefined) return { kind: "released", reason: exit.unwritten };
  const failure = failureOf(exit, result);
  if (failure !== undefined) return { ...failure, ...partial, ...facts };
  return {
    kind: "succeeded",
    resultJson: result.kind === "found" ? result.json : "null",
    exitCode: 0,
    ...facts,
  };
}

/** As shells count it: 128 + n after signal n. */
function codeOf({ exitCode, signal }: ProcessExit): { exitCode?: number } {
  if (signal !== null) return { exitCode: 128 + (constants.signals[signal as NodeJS.Signals] ?? 0) };
  return exitCode === null ? {} : { exitCode };
}

function failureOf(exit: ProcessExit, result: ReadResult): Failed | undefined {
  if (exit.outputLimited) return executionError("OUTPUT_LIMIT", outputLimitReason);
  if (exit.usage.oom === true) return { ...executionError("OOM_KILLED", "ran out of memory"), exitCode: 137 };
  if (exit.signal !== null) {
    return { ...executionError("SIGNALED", `killed by ${exit.signal}`), ...codeOf(exit) };
  }
  if (exit.exitCode !== 0) {
    const exitCode = exit.exitCode ?? -1;
    return { ...executionError("WORKER_EXIT_ERROR", `exited with code ${exitCode}`), exitCode };
  }
  if (result.kind === "unusable") {
    return { kind: "failed", code: "EXECUTION_ERROR", reason: result.problem, exitCode: 0 };
  }
  return undefined;
}

/** The codes that shells use: 127 if the command is not found, 126 if it cannot be executed. */
function spawnFailure({ argv, isolation }: EndedProcess, error: SpawnError): Failed {
  const command = argv[0] ?? "";
  if (error.code === "ENOENT") {
    return {
      ...executionError("SPAWN_FAILED", `command not found: ${command}${cageHint(command, isolation)}`),
      exitCode: 127,
    };
  }
  const reason =
    error.code === "EACCES" ? `permission denied: ${command}` : `cannot execute ${command}: ${error.message}`;
  return { ...executionError("SPAWN_FAILED", reason), exitCode: 126 };
}

/** A hint for a command that names a file of the host, which the cage does not contain. */
function cageHint(command: string, { applied }: Isolation): string {
  // The kernel says the same about a file that is there if its interpreter is not.
  if (command.startsWith(`${workDirInCage}/`))
    return "; the program that its first line names, or a library that it needs, may be missing on this worker";
  const [start = "", topDir = ""] = command.split("/");
  const isOfHost = command.includes("/") && !(start === "" && isProgramDir(topDir));
  if (!isOfHost || !applied.includes("jail")) return "";
  return (
    "; the job runs in a cage where the host's files are not visible, except the programs in /usr, /bin and /opt. " +
    "Install it there on the worker, or add its directory to execution.visible_paths in agents.yaml and name it by its " +
    "absolute path"
  );
}

function executionError(detail: NonNullable<Failed["detail"]>, reason: string): Failed {
  return { kind: "failed", code: "EXECUTION_ERROR", detail, reason };
}
