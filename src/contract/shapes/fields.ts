import { z } from "zod";
import { isJobId } from "../../core/ids.ts";
import {
  absolutePathProblem,
  changeablePathProblem,
  reachesOutside,
  relativePathProblem,
  workingDirProblem,
} from "../../core/path-rules.ts";
import { objectKeyProblem, storagePrefixProblem } from "../../core/storage-policy.ts";
import { Decimal } from "../../core/text/json-value.ts";
import { timeMsMax } from "../../core/text/time-text.ts";
import { formatTraceparent, parseTraceparent, traceparentHelp } from "../../core/trace-context.ts";

/** The small shapes that many routes share. Each message says what is allowed, because people read it. */

export const jobId = z
  .string()
  .refine(isJobId, "must be a UUID of version 4 or 7, in lower case")
  .meta({ description: "Job id: a UUID of version 7 (or 4)", format: "uuid" });

export const tenantId = pattern(/^[A-Za-z0-9_]{3,50}$/, "3 to 50 letters, digits or _");
export const userId = pattern(/^[A-Za-z0-9_.@-]{1,50}$/, "1 to 50 letters, digits, _ . - or @");
export const workerId = pattern(/^[A-Za-z0-9._:@-]{1,100}$/, "1 to 100 letters, digits, . _ : @ or -");
export const jobType = pattern(/^[A-Za-z0-9._-]{1,100}$/, "1 to 100 letters, digits, . _ or -");
export const tag = pattern(/^[A-Za-z0-9._:/=@-]{1,100}$/, "1 to 100 letters, digits or . _ : / = @ -");
export const containerName = pattern(/^[A-Za-z0-9._-]{1,100}$/, "1 to 100 letters, digits, . _ or -");
/** Any name, because a worker may be newer than its hub. */
export const kindName = pattern(/^[a-z0-9_]{1,50}$/, "1 to 50 lower-case letters, digits or _");
export const certSerial = pattern(/^[0-9A-F]{1,64}$/, "1 to 64 upper-case hex digits");
export const keyId = pattern(/^[0-9a-f]{16}$/, "16 hex digits");
/** Some programs write upper case; it means the same, and is kept in lower case. */
export const sha256Text = pattern(
  /^(sha256:)?[0-9a-fA-F]{64}$/,
  "64 hex digits, with or without sha256:",
).toLowerCase();
/** The name of a schedule, webhook or hook. `.` and `..` would be other paths. */
export const orderName = pattern(
  /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/,
  "1 to 100 letters, digits, . _ or -, and not . or ..",
);
/** A word by which jobs are found and changed together. */
export const label = text(1, 100);
/** A storage folder may be a folder on a disk, where . and .. are other folders. */
export const folderId = pathText((name) =>
  /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/.test(name)
    ? null
    : "must be 1 to 100 letters, digits, . _ or -, and must not begin with a dot",
);
/** The same, kept without its prefix. */
export const sha256Digits = sha256Text.overwrite((text) => text.replace("sha256:", ""));
/** Kept in version 00, so that every program reads it. */
export const traceparent = z
  .string()
  .refine((given) => parseTraceparent(given) !== null, `must be ${traceparentHelp}`)
  .overwrite((given) => {
    const context = parseTraceparent(given);
    return context === null ? given : formatTraceparent(context);
  })
  .meta({ description: "Where the job belongs in a trace (W3C Trace Context)" });
export const leaseToken = pattern(/^[A-Za-z0-9_-]{16,128}$/, "the token of the lease");

/**
 * Text that people and programs choose. A NUL means nothing in it, and PostgreSQL stores none: it becomes U+FFFD here, so that
 * every database keeps the same.
 */
export function text(min: number, max: number) {
  return z
    .string()
    .min(min)
    .max(max)
    .overwrite((given) => given.replaceAll("\0", "\uFFFD"));
}

export function integer(min: number, max: number, unit?: string) {
  const allowed = `must be a whole number${unit === undefined ? "" : ` of ${unit}`} from ${min} to ${max}`;
  return z.int(allowed).min(min, allowed).max(max, allowed);
}

/** Any number; a number that was written as a decimal keeps its text until here. */
export function decimal(min: number, max: number) {
  const allowed = `must be a number from ${min} to ${max}`;
  return z
    .unknown()
    .meta({ type: "number", minimum: min, maximum: max })
    .transform((value) => (value instanceof Decimal ? value.valueOf() : value))
    .pipe(z.number(allowed).min(min, allowed).max(max, allowed));
}

/** Whole numbers in a query, where they are text. */
export function queryInteger(min: number, max: number) {
  const allowed = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,16}$/, allowed)
    .transform(Number)
    .pipe(z.int(allowed).min(min, allowed).max(max, allowed));
}

export const queryFlag = z
  .enum(["true", "false"], "must be true or false")
  .transform((value) => value === "true");

export const relativePath = pathText(relativePathProblem);
export const changeablePath = pathText(changeablePathProblem);
export const absolutePath = pathText(absolutePathProblem, { absolute: true });
export const workingDir = pathText(workingDirProblem, { absolute: true });
export const storagePrefix = pathText(storagePrefixProblem);
export const objectKey = pathText(objectKeyProblem);

/** JSON of any shape, kept as it was parsed, so that its numbers can be signed as they were written. */
export const anyJson = z.unknown();

/**
 * For responses: one of these values, as far as this version knows. A newer hub may send another one, and an older
 * client must still be able to read the rest.
 */
export function known<const T extends string>(values: readonly T[]): z.ZodType<T, T> {
  return z.string().meta({ examples: [...values] }) as unknown as z.ZodType<T, T>;
}

export const timeMs = integer(0, timeMsMax, "milliseconds since the epoch");

export function pattern(regex: RegExp, allowed: string) {
  return z.string(`must be text: ${allowed}`).regex(regex, `must be ${allowed}`);
}

/** The error of a path that tried to reach something outside says so: it is recorded in the audit trail. */
export function pathText(problemOf: (path: string) => string | null, root = { absolute: false }) {
  return z.string().superRefine((path, context) => {
    const problem = problemOf(path);
    if (problem === null) return;
    context.addIssue({
      code: "custom",
      message: problem,
      params: { isTraversal: reachesOutside(path, root) },
    });
  });
}
