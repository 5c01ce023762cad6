import { runProcess } from "./run-process.ts";
import type { RunContext, Runner, RunOutcome } from "./runner.ts";

/** Runs the command that the document names. */
export const execRunner: Runner = {
  kind: "exec",
  isInProcess: () => false,
  run,
};

async function run(context: RunContext): Promise<RunOutcome> {
  const { run: spec } = context.document;
  if (spec.kind !== "exec") throw new Error(`the exec runner was given a job of kind ${spec.kind}`);
  return runProcess(context, {
    argv: spec.argv,
    env: spec.env,
    cwd: spec.cwd,
    secrets: spec.secrets,
    input: context.signed["params"] ?? null,
  });
}
