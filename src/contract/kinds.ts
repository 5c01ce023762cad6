import { z } from "zod";
import { delegateModes } from "../core/jobs/document.ts";
import { defineKind, type KindRules } from "./define-kind.ts";
import {
  anyJson,
  changeablePath,
  containerName,
  integer,
  sha256Text,
  text,
  workingDir,
} from "./shapes/fields.ts";
import { inputPath, storedFile } from "./shapes/file-shapes.ts";
import { agentBudget, command, environment, secrets, stdin } from "./shapes/run-shapes.ts";

/** What a coding agent is asked to do. */
export const prompt = text(1, 512 * 1024);

/**
 * Everything that the hub and the workers have to know about a kind of job, one row each. To add a kind, add its row
 * here and its runner in `src/runners/`; docs/recipes/runner.md has the recipe. Why: ADR 0019.
 */
export const kinds = {
  exec: defineKind("exec", {
    fields: {
      argv: command,
      env: environment.optional(),
      cwd: workingDir.optional(),
      stdin: stdin.optional(),
      stdin_from: storedFile.optional(),
      secrets: secrets.optional(),
    },
    timeoutSecMax: 604_800,
    canRunForever: true,
    command: (run) => run.argv,
    hidden: ["env", "stdin"],
  }),
  solver: defineKind("solver", {
    fields: {
      url: text(1, 4096),
      checksum: sha256Text,
      params: anyJson.optional(),
      secrets: secrets.optional(),
    },
    argument: "params",
  }),
  exec_per_job: defineKind("exec_per_job", {
    fields: {
      worker_command: command,
      job_input: anyJson.optional(),
      secrets: secrets.optional(),
      container: containerName.optional(),
    },
    command: (run) => run.worker_command,
    argument: "job_input",
  }),
  persistent_http: defineKind("persistent_http", {
    fields: {
      worker_command: command,
      port: integer(1, 65_535),
      job_input: anyJson.optional(),
      secrets: secrets.optional(),
      container: containerName.optional(),
    },
    command: (run) => run.worker_command,
    mayCloseNetwork: false,
  }),
  delegate: defineKind("delegate", {
    fields: {
      agent: text(1, 100),
      prompt,
      expected_artifacts: z.array(changeablePath).max(1000).optional(),
      idle_timeout_sec: integer(0, 604_800).optional(),
      mode: z.enum(delegateModes).optional(),
      budget: agentBudget.optional(),
      apply: inputPath.optional(),
      secrets: secrets.optional(),
    },
    documentFields: {
      provider: "required",
      model: "required",
      repo_root: "local",
      allowed_paths: "local",
    },
  }),
  handler: defineKind("handler", { fields: { params: anyJson.optional() } }),
};

export type RunKind = keyof typeof kinds;
type RunShape = (typeof kinds)[RunKind]["shape"];

export const kindNames = Object.keys(kinds) as RunKind[];

/** What to run, by kind. */
export const runSpec = z.discriminatedUnion(
  "kind",
  Object.values(kinds).map(({ shape }) => shape) as [RunShape, ...RunShape[]],
  `must have a kind: ${kindNames.slice(0, -1).join(", ")} or ${kindNames.at(-1)}`,
);
export type RunSpec = z.infer<typeof runSpec>;

/** A newer hub on the same database may have stored a kind that is unknown here. */
type StoredRun = { kind: string; [field: string]: unknown };

export function rulesOf(kind: RunKind): KindRules {
  return kinds[kind];
}

/** The command line of a job, or null if its kind has none. */
export function commandOf(run: StoredRun): readonly string[] | null {
  return knownRules(run)?.command(run) ?? null;
}

/** The fields of this job that only its user and administrators may read. */
export function hiddenIn(run: StoredRun): string[] {
  const fields = Object.keys(run).filter((field) => field !== "kind");
  const hidden = knownRules(run)?.hidden;
  return hidden === undefined ? fields : fields.filter((field) => hidden.includes(field));
}

function knownRules(run: StoredRun): KindRules | undefined {
  return (kinds as Record<string, KindRules | undefined>)[run.kind];
}

/** The longest timeout of any kind. */
export const timeoutSecMax = Math.max(...kindNames.map((kind) => kinds[kind].timeoutSecMax));
