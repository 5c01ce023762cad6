import { CommanderError } from "commander";
import { type ErrorCode, errorTable, WritError } from "../core/errors.ts";
import { neutralise } from "../core/text/neutralise.ts";
import { redactText } from "../runtime/log/redact.ts";
import type { CliContext } from "./context.ts";
import { neutraliseLine, safeJson } from "./terminal/terminal.ts";

export const usageCode = 2;
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
/** A caller who may not do this has no job yet, so no user owns it. */
const jobctlCommandsThatMakeJobs: readonly string[] = ["run", "start", "submit", "delegate"];

/** What to do next for a code that is about the thing which the command names. */
function adviceAbout(code: ErrorCode, { program, commandName }: ErrorContext): string | undefined {
  const list = lists[`${program} ${commandName}`];
  const isAboutJobs = program === "jobctl" && !jobctlCommandsNotAboutJobs.includes(commandName ?? "");
  if (code === "NOT_FOUND") return list ?? (isAboutJobs ? "`jobctl list` shows your jobs" : undefined);
  if (code === "STATE_CONFLICT") return isAboutJobs ? "`jobctl status ID` shows the job's state" : undefined;
  if (code !== "PERMISSION_DENIED") return undefined;
  return isAboutJobs && !jobctlCommandsThatMakeJobs.includes(commandName ?? "")
    ? "`jobctl whoami` shows who you are; ask the job's user or an administrator"
    : "`jobctl whoami` shows who you are; ask an administrator of the hub";
}

const tellAdministrator =
  "tell an administrator of the hub when it happened: logs/hub.log on the hub's machine has the cause";

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
  // Some causes pass by themselves and some stay. The log can tell, but most callers are not on the hub's machine.
  STORE_UNAVAILABLE: `\`writ doctor\` shows whether the hub's database works again; if not, ${tellAdministrator}`,
  OUTPUT_UNAVAILABLE: `try again in a moment; if it lasts, ${tellAdministrator}`,
  OUTPUT_REMOVED: "the job's record and receipt are kept",
  SHUTTING_DOWN: "try again when the hub is back",
  INVALID_ARGUMENT: "see --help",
  INTERNAL: tellAdministrator,
};

/** Prints one line with what went wrong and what to do next, as JSON with --json, and returns the exit code. */
export function reportError(
  context: ErrorContext & Pick<CliContext, "stderr" | "stops">,
  error: unknown,
): number {
  // Commander has printed its own line.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageCode;
  if (context.stops.requested.aborted && !(error instanceof WritError)) return context.stops.exitCode;
  context.stderr.write(
    hasJsonFlag(context) ? jsonLine(errorFields(context, error)) : textLine(context, error),
  );
  return exitCodeOf(error);
}

/** The line for words that commander refuses. */
export function usageLine(context: ErrorContext, message: string): string {
  if (hasJsonFlag(context)) return jsonLine({ code: "INVALID_ARGUMENT", message });
  return `${context.program}: ${message}\n`;
}

/** Also true before the words were parsed, because that can fail too. */
function hasJsonFlag({ args }: ErrorContext): boolean {
  const end = args.indexOf("--");
  return (end === -1 ? args : args.slice(0, end)).includes("--json");
}

function exitCodeOf(error: unknown): number {
  return error instanceof WritError ? errorTable[error.code].exit : failedCode;
}

type ErrorContext = Pick<CliContext, "program" | "commandName" | "args">;

function textLine(where: ErrorContext, error: unknown): string {
  const { program } = where;
  const message = redactText(neutraliseLine(messageOf(error)));
  if (!(error instanceof WritError)) return `${program}: ${message}\n`;
  const next = nextStep(where, error);
  const list = typeof error.details?.["list"] === "string" ? neutralise(error.details["list"]) : "";
  return `${program}: ${message}${next === undefined ? "" : `; ${next}`}${list}\n`;
}

type ErrorFields = {
  code: ErrorCode;
  message: string;
  advice?: string | undefined;
  /** Under which the hub's log has the refusal; of an error that is not the hub's there is none. */
  request_id?: unknown;
  details?: object;
};

function errorFields(where: ErrorContext, error: unknown): ErrorFields {
  if (!(error instanceof WritError)) return { code: "INTERNAL", message: messageOf(error) };
  const { code, message } = error;
  const { advice: _advice, list: _list, request_id, ...details } = error.details ?? {};
  const more = Object.keys(details).length === 0 ? {} : { details };
  return { code, message, advice: nextStep(where, error), request_id, ...more };
}

function jsonLine(error: ErrorFields): string {
  return `${redactText(safeJson({ error }))}\n`;
}

function nextStep(where: ErrorContext, { code, details, message }: WritError): string | undefined {
  const own = details?.["advice"];
  // An empty one says that there is nothing to do.
  if (typeof own === "string") return own === "" ? undefined : own;
  const usual = adviceAbout(code, where) ?? advice[code];
  // The hub's own sentence may end with a part of it.
  const parts = usual?.split("; ").filter((part) => !message.includes(part)) ?? [];
  return parts.length === 0 ? undefined : parts.join("; ");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
