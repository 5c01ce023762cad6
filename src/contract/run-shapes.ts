import { z } from "zod";
import { ioClasses, limitHelp, networks, parseCpu, parseMemory, pidsRange } from "../core/limits.ts";
import { anyJson, decimal, integer, sha256Text, tag, text } from "./fields.ts";

/** One argument of a process holds 128 KiB in the kernel, with its final NUL. */
const argumentBytesMax = 128 * 1024 - 1;
const argumentsMax = 4096;
const environmentEntriesMax = 1000;

const argument = z
  .string()
  .refine((value) => !value.includes("\0"), "must not hold a NUL")
  .refine((value) => utf8Length(value) <= argumentBytesMax, `must be at most ${argumentBytesMax} bytes`);

const command = z
  .array(argument)
  .min(1, "must name a command")
  .max(argumentsMax, `must have at most ${argumentsMax} words`)
  .refine((words) => words[0] !== "", "must name a command");

const environment = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable name: letters, digits and _"),
    argument,
  )
  .refine(
    (env) => Object.keys(env).length <= environmentEntriesMax,
    `must have at most ${environmentEntriesMax} entries`,
  )
  .refine(
    (env) => !Object.keys(env).some((name) => name.startsWith("JOB_")),
    "names that start with JOB_ are Writ's own",
  );

const secrets = z
  .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, "must be a variable name"))
  .max(100)
  .optional();

const url = text(1, 4096);

export const runSpec = z.discriminatedUnion(
  "kind",
  [
    z.strictObject({
      kind: z.literal("exec"),
      argv: command,
      env: environment.optional(),
      cwd: text(1, 4096).optional(),
      secrets,
    }),
    z.strictObject({
      kind: z.literal("solver"),
      url,
      checksum: sha256Text,
      params: anyJson.optional(),
      secrets,
    }),
    z.strictObject({
      kind: z.literal("exec_per_job"),
      worker_command: command,
      job_input: anyJson.optional(),
      secrets,
    }),
    z.strictObject({
      kind: z.literal("persistent_http"),
      worker_command: command,
      port: integer(1, 65_535),
      job_input: anyJson.optional(),
      secrets,
    }),
    z.strictObject({
      kind: z.literal("delegate"),
      agent: text(1, 100),
      prompt: text(1, 512 * 1024),
      expected_artifacts: z.array(text(1, 4096)).max(1000).optional(),
      idle_timeout_sec: integer(0, 604_800).optional(),
      secrets,
    }),
    z.strictObject({ kind: z.literal("handler"), params: anyJson.optional() }),
  ],
  "must have a kind: exec, solver, exec_per_job, persistent_http, delegate or handler",
);

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

export const requires = z.strictObject({
  tags: z.array(tag).max(50).optional(),
  session: text(1, 100).optional(),
  cores: integer(1, 4096).optional(),
  ram_gb: decimal(0, 1_048_576).optional(),
});

function utf8Length(value: string): number {
  return new TextEncoder().encode(value).length;
}
