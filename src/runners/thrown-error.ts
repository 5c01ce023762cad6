import {
  classify,
  codeOfWork,
  type FailureClass,
  type FailureDetail,
  writCodes,
} from "../core/jobs/failure.ts";
import { cutText } from "../core/text/cut-text.ts";
import { Final } from "./final.ts";
import { RetryIn } from "./retry-in.ts";
import { RunFailure } from "./runner.ts";

/** The facts that an exception of a handler gives about its attempt. */
type Thrown = {
  code: FailureClass;
  detail?: FailureDetail;
  /** The handler's own code for the error, which the hub does not know. */
  ownCode?: string;
  reason: string;
  isFinal?: true;
  retryInSec?: number;
  /** For the attempt's stderr; null if the reason explains all: Writ found fault with the job, or it is an ordinary answer. */
  trace: string | null;
};

const reasonCharsMax = 2000;
const traceCharsMax = 16_000;
/** A chain of causes may have no end. */
const causesMax = 8;
/** A code must fit into a list, a label and a filter. Longer texts belong into the message. */
const ownCodeForm = /^[\w.:/-]{1,100}$/;

/**
 * An error may have a failure code of Writ that is for functions, such as INVALID_JOB if a retry cannot help, or one of
 * its own. Codes that Writ decides by itself are not accepted from a function.
 */
export function readThrown(error: unknown): Thrown {
  const given = codeOf(error);
  const known = codeOfWork(given);
  const ownCode = isOwnCode(given) ? { ownCode: given } : {};
  const reason = cutText(messageOf(error), reasonCharsMax) || "the handler threw an error without a message";
  if (error instanceof Final)
    return { code: "EXECUTION_ERROR", ...ownCode, reason, isFinal: true, trace: null };
  if (error instanceof RetryIn)
    return { code: "EXECUTION_ERROR", ...ownCode, reason, retryInSec: error.seconds, trace: null };
  const { code, detail } = classify(known ?? "EXECUTION_ERROR");
  return {
    code,
    ...(detail === null ? {} : { detail: detail as FailureDetail }),
    ...ownCode,
    reason,
    trace: error instanceof RunFailure ? null : cutText(`${traceOf(error)}\n`, traceCharsMax),
  };
}

/** A job that the hub has not cancelled must not look cancelled, and one whose claim was authentic must not look forged. */
function isOwnCode(code: unknown): code is string {
  return typeof code === "string" && ownCodeForm.test(code) && !writCodes.includes(code);
}

/** The stack of an error, and of the errors that caused it. Other fields are left out: they may hold a whole request. */
function traceOf(error: unknown): string {
  const stacks: string[] = [];
  for (let one = error, prefix = ""; stacks.length < causesMax; prefix = "caused by: ") {
    stacks.push(prefix + stackOf(one));
    if (!(one instanceof Error) || one.cause === undefined) break;
    one = one.cause;
  }
  return stacks.join("\n");
}

function stackOf(error: unknown): string {
  return orElse("", () => (error instanceof Error ? textOf(error.stack) : "")) || messageOf(error);
}

function messageOf(error: unknown): string {
  return orElse("an error that cannot be read", () => textOf(error instanceof Error ? error.message : error));
}

function codeOf(error: unknown): unknown {
  return orElse(undefined, () => (error instanceof Error && "code" in error ? error.code : undefined));
}

function textOf(value: unknown): string {
  return value === undefined ? "undefined" : String(value);
}

/** A thrown value may throw again when it is read. That is still the job's failure, not the worker's. */
function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch {
    // Reading the thrown value has thrown again; see above.
    return fallback;
  }
}
