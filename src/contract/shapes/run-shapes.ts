import { z } from "zod";
import { egressAllowMax, egressInjectMax, jobTargetProblem, workerTargetProblem } from "../../core/egress.ts";
import {
  ioClasses,
  limitHelp,
  networks,
  parseCpu,
  parseMemory,
  pidsRange,
  stdinBytesMax,
} from "../../core/limits.ts";
import { decimal, integer, tag, text } from "./fields.ts";

/** The shapes from which the kinds of jobs are built: a command and its environment, its limits, its requirements. */

/** The kernel allows 128 KiB for one argument of a process, including its final NUL. */
const argumentBytesMax = 128 * 1024 - 1;
const argumentsMax = 4096;
const environmentEntriesMax = 1000;

const argument = z
  .string()
  .refine((value) => !value.includes("\0"), "must not contain a NUL")
  .refine((value) => utf8Length(value) <= argumentBytesMax, `must be at most ${argumentBytesMax} bytes`);

export const command = z
  .array(argument)
  .min(1, "must name a command")
  .max(argumentsMax, `must have at most ${argumentsMax} words`)
  .refine((words) => words[0] !== "", "must name a command");

/** Variables of a process, by their names. */
export const variables = z
  .record(
    z
      .string()
      .regex(
        /^[A-Za-z_][A-Za-z0-9_]{0,199}$/,
        "must be a variable name: letters, digits and _, at most 200, and no digit first",
      ),
    argument,
  )
  .refine(
    (env) => Object.keys(env).length <= environmentEntriesMax,
    `must have at most ${environmentEntriesMax} entries`,
  );

export const environment = variables.refine(
  (env) => !Object.keys(env).some((name) => name.startsWith("JOB_")),
  "names that start with JOB_ are reserved for Writ",
);

/** What the command reads on its standard input, in base64. */
export const stdin = z
  .base64("must be base64")
  .min(1, "must not be empty; leave it out instead")
  .refine((value) => base64Length(value) <= stdinBytesMax, `must be at most ${stdinBytesMax} bytes`);

/** Names of secrets that the worker has. */
export const secrets = z
  .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable name"))
  .max(100);

export const limits = z.strictObject({
  cpu: z
    .string()
    .refine((value) => parseCpu(value) !== undefined, `must be ${limitHelp.cpu}`)
    .optional(),
  memory: z
    .string()
    .refine((value) => parseMemory(value) !== undefined, `must be ${limitHelp.memory}`)
    .optional(),
  io: z.enum(ioClasses, `must be ${limitHelp.io}`).optional(),
  pids: integer(pidsRange.min, pidsRange.max).optional(),
  network: z.enum(networks, `must be ${limitHelp.network}`).optional(),
});

function egressTarget(problemOf: (text: string) => string | null) {
  return text(1, 300).superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });
}

/** Names of keys that the worker adds to requests. */
const inject = secrets.max(egressInjectMax, `must have at most ${egressInjectMax} names`).optional();

/** What a job may reach out of a closed network. Only a worker's own file may name private addresses. */
export const egress = z.strictObject({
  allow: z
    .array(egressTarget(jobTargetProblem))
    .max(egressAllowMax, `must have at most ${egressAllowMax} entries`),
  inject,
});

/** The same in the file of a worker. */
export const workerEgress = z.strictObject({
  allow: z.array(egressTarget(workerTargetProblem)).max(1000),
});
export const agentEgress = z.strictObject({
  allow: z.array(egressTarget(workerTargetProblem)).max(egressAllowMax),
  inject,
});

/** At most what a coding agent may use, as it reports it, in all attempts together. */
export const agentBudget = z
  .strictObject({
    usd: decimal(0, 1_000_000).optional(),
    tokens: integer(0, Number.MAX_SAFE_INTEGER).optional(),
    tool_calls: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  })
  .refine(
    (budget) => Object.values(budget).some((most) => most !== undefined),
    "must have usd, tokens or tool_calls",
  );

export const requires = z.strictObject({
  tags: z.array(tag).max(50).optional(),
  session: text(1, 100).optional(),
  cores: integer(1, 4096).optional(),
  ram_gb: decimal(0, 1_048_576).optional(),
});

function utf8Length(value: string): number {
  return new TextEncoder().encode(value).length;
}

function base64Length(value: string): number {
  return (value.length / 4) * 3 - (/={0,2}$/.exec(value)?.[0].length ?? 0);
}
