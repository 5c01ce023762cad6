import { CommanderError } from "commander";
import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import { redactText } from "../runtime/redact.ts";
import type { CliContext } from "./context.ts";
import { neutralise, neutraliseLine } from "./terminal.ts";

const usageCode = 2;
const failedCode = 1;

/** Commands about something other than jobs, with the command that lists what they are about. */
const lists: Readonly<Record<string, string>> = {
  "writ tokens": "`writ tokens list` shows the tokens",
  "writ certs": "`writ certs list` shows the certificates",
  "writ keys": "`writ keys list` shows the keys",
  "writ workers": "`writ workers list` shows the workers",
  "writ queues": "`writ queues list` shows the types",
  "writ quotas": "`writ quotas list` shows the tenants",
};

const jobctlCommandsNotAboutJobs: readonly string[] = ["audit", "workers", "whoami"];

/** What to do next for a code that is about the thing which the command names. */
function adviceAbout(code: ErrorCode, { program, commandName }: Where): string | undefined {
  const list = lists[`${program} ${commandName}`];
  const isAboutJobs = program === "jobctl" && !jobctlCommandsNotAboutJobs.includes(commandName ?? "");
  if (code === "NOT_FOUND") return list ?? (isAboutJobs ? "`jobctl list` shows your jobs" : undefined);
  if (code === "STATE_CONFLICT") return isAboutJobs ? "`jobctl status ID` shows the job's state" : undefined;
  if (code !== "PERMISSION_DENIED") return undefined;
  return isAboutJobs
    ? "`jobctl whoami` shows who you are; ask the job's user or an administrator"
    : "`jobctl whoami` shows who you are; ask an administrator of the hub";
}

/** What to do next, by code. Errors with other codes say so in their own message. */
const advice: Partial<Record<ErrorCode, string>> = {
  HUB_UNREACHABLE: "start a hub with `writ up`, or name a running one with --hub or --home",
  UNAUTHENTICATED: "give a valid token with --token or WRIT_TOKEN, or a certificate with --cert",
  IDEMPOTENCY_MISMATCH: "use a different --idempotency-key for a different job",
  TOO_LARGE: "send less in one call",
  QUOTA_EXCEEDED: "wait until some jobs have ended, or ask an administrator for a higher quota",
  RATE_LIMITED: "try again in a moment",
  TOO_MANY_STREAMS: "an administrator can raise WRIT_EVENT_STREAMS_MAX and WRIT_OUTPUT_STREAMS_MAX",
  LOCKDOWN: "`writ lockdown` shows why; an administrator ends it with `writ lockdown --lift`",
  STORE_UNAVAILABLE: "try again in a moment; logs/hub.log in the hub's home has the cause",
  OUTPUT_UNAVAILABLE: "try again in a moment; logs/hub.log in the hub's home has the cause",
  OUTPUT_REMOVED: "the job's record and receipt are kept",
  SHUTTING_DOWN: "try again when the hub is back",
  INVALID_ARGUMENT: "see --help",
  INTERNAL: "logs/hub.log in the hub's home has the details",
};

/** Prints one line with what went wrong and what to do next, and returns the exit code. */
export function reportError(context: Where & Pick<CliContext, "stderr" | "stops">, error: unknown): number {
  // Commander has printed its own line.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageCode;
  if (context.stops.requested.aborted && !(error instanceof WritError)) return context.stops.exitCode;
  const { line, exitCode } = explain(context, error);
  context.stderr.write(line);
  return exitCode;
}

function exitCodeOf(error: unknown): number {
  return error instanceof WritError ? errorTable[error.code].exit : failedCode;
}

type Where = Pick<CliContext, "program" | "commandName">;

function explain(where: Where, error: unknown): { line: string; exitCode: number } {
  const { program } = where;
  const exitCode = exitCodeOf(error);
  const message = redactText(neutraliseLine(error instanceof Error ? error.message : String(error)));
  if (!(error instanceof WritError)) return { line: `${program}: ${message}\n`, exitCode };
  const own = error.details?.["advice"];
  const next = typeof own === "string" ? own : (adviceAbout(error.code, where) ?? advice[error.code]);
  const list = typeof error.details?.["list"] === "string" ? neutralise(error.details["list"]) : "";
  return { line: `${program}: ${message}${next === undefined ? "" : `; ${next}`}${list}\n`, exitCode };
}
