import { CommanderError } from "commander";
import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import { redactText } from "../runtime/redact.ts";
import type { CliContext } from "./context.ts";
import { neutralise, neutraliseLine } from "./terminal.ts";

const usageCode = 2;
const failedCode = 1;

/** What to do next, by code. Errors with other codes say so in their own message. */
const advice: Partial<Record<ErrorCode, string>> = {
  HUB_UNREACHABLE: "start a hub with `writ up`, or name a running one with --hub or --home",
  UNAUTHENTICATED: "give a valid token with --token or WRIT_TOKEN",
  PERMISSION_DENIED: "ask the job's owner or an administrator",
  NOT_FOUND: "check the id: `jobctl list` shows jobs, `jobctl workers` workers, `writ tokens list` tokens",
  STATE_CONFLICT: "`jobctl status ID` shows the state of the job",
  IDEMPOTENCY_MISMATCH: "use a different --idempotency-key for a different job",
  TOO_LARGE: "send less in one call",
  QUOTA_EXCEEDED: "wait until some jobs have ended, or ask an administrator for a higher quota",
  RATE_LIMITED: "try again in a moment",
  TOO_MANY_STREAMS: "an administrator can raise WRIT_EVENT_STREAMS_MAX and WRIT_OUTPUT_STREAMS_MAX",
  LOCKDOWN: "`writ lockdown` shows why; an administrator ends it with `writ lockdown --lift`",
  STORE_UNAVAILABLE: "try again in a moment; logs/hub.log in the hub's home has the cause",
  OUTPUT_UNAVAILABLE: "try again in a moment; logs/hub.log in the hub's home has the cause",
  OUTPUT_REMOVED:
    "the job's record and receipt are kept; WRIT_MAX_STORAGE_BYTES sets how much output the hub keeps",
  SHUTTING_DOWN: "try again when the hub is back",
  INVALID_ARGUMENT: "see --help",
  INTERNAL: "logs/hub.log in the hub's home has the details",
};

/** Prints one line with what went wrong and what to do next, and returns the exit code. */
export function reportError(
  context: Pick<CliContext, "program" | "stderr" | "stops">,
  error: unknown,
): number {
  // Commander has printed its own line.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageCode;
  if (context.stops.requested.aborted && !(error instanceof WritError)) return context.stops.exitCode;
  const { line, exitCode } = explain(context.program, error);
  context.stderr.write(line);
  return exitCode;
}

function exitCodeOf(error: unknown): number {
  return error instanceof WritError ? errorTable[error.code].exit : failedCode;
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
