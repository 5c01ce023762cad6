import { CommanderError } from "commander";
import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import { redactText } from "../runtime/redact.ts";
import type { CliContext } from "./context.ts";
import { neutralise, neutraliseLine } from "./terminal.ts";

const USAGE = 2;
const FAILED = 1;

/** What to do next, by code. A code that is not here says it in its own message. */
const advice: Partial<Record<ErrorCode, string>> = {
  HUB_UNREACHABLE: "start one with `writ up`, or name another with --hub or --home",
  UNAUTHENTICATED: "give a valid token with --token or WRIT_TOKEN",
  PERMISSION_DENIED: "ask the job's owner or an administrator",
  NOT_FOUND: "`jobctl list` shows what there is",
  STATE_CONFLICT: "`jobctl status ID` shows where the job is",
  IDEMPOTENCY_MISMATCH: "another job needs another --idempotency-key",
  TOO_LARGE: "send less at once",
  QUOTA_EXCEEDED: "wait until jobs have ended, or ask an administrator for more",
  RATE_LIMITED: "try again in a moment",
  LOCKDOWN: "an administrator has locked the hub; try again when it is over",
  STORE_UNAVAILABLE: "try again in a moment; the hub's log says what is wrong",
  OUTPUT_UNAVAILABLE: "try again in a moment; the hub's log says what is wrong",
  OUTPUT_REMOVED:
    "the job's record and receipt are still there; WRIT_MAX_STORAGE_BYTES says how much the hub keeps",
  SHUTTING_DOWN: "try again when the hub is back",
  INVALID_ARGUMENT: "--help shows what is allowed",
  INTERNAL: "the hub's log says more (logs/hub.log in its home)",
};

/** Says in one line what went wrong and what to do next, and gives the exit code for it. */
export function reportError(
  context: Pick<CliContext, "program" | "stderr" | "stops">,
  error: unknown,
): number {
  // Commander has said its line already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  if (context.stops.asked.aborted && !(error instanceof WritError)) return context.stops.exitCode;
  const { line, exitCode } = explain(context.program, error);
  context.stderr.write(line);
  return exitCode;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof WritError ? errorTable[error.code].exit : FAILED;
}

function explain(program: string, error: unknown): { line: string; exitCode: number } {
  const exitCode = exitCodeOf(error);
  const message = redactText(neutraliseLine(error instanceof Error ? error.message : String(error)));
  if (!(error instanceof WritError)) return { line: `${program}: ${message}\n`, exitCode };
  const own = error.details?.["advice"];
  const next = typeof own === "string" ? own : advice[error.code];
  const list = typeof error.details?.["list"] === "string" ? neutralise(error.details["list"]) : "";
  return { line: `${program}: ${message}${next === undefined ? "" : `; ${next}`}${list}\n`, exitCode };
}
