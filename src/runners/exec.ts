import { runProcess } from "./run-process.ts";
import type { RunContext, Runner, RunnerDeps, RunOutcome } from "./runner.ts";

/** Runs the command in the document. */
export function execRunner(deps: RunnerDeps): Runner {
  return {
    kind: "exec",
    isInProcess: () => false,
    run: (context) => run(deps, context),
  };
}

async function run(deps: RunnerDeps, context: RunContext): Promise<RunOutcome> {
  const { run: spec } = context.document;
  if (spec.kind !== "exec") throw new Error(`the exec runner was given a job of kind ${spec.kind}`);
  return runProcess(deps, context, {
    argv: spec.argv,
    env: spec.env,
    cwd: spec.cwd,
    secrets: spec.secrets,
    stdin: spec.stdin === undefined ? undefined : Buffer.from(spec.stdin, "base64"),
    stdinFile: context.stdinFile,
    input: context.signed["params"] ?? null,
  });
}
