import { canonicalize } from "../signing/canonical.ts";
import { jobInputOf } from "./job-input.ts";
import { runProcess } from "./run-process.ts";
import type { Runner, RunnerDeps } from "./runner.ts";

/** Runs a worker that takes one job per call: its command, and the job's input in base64 as the last argument. */
export function execPerJobRunner(deps: RunnerDeps): Runner {
  return {
    kind: "exec_per_job",
    isInProcess: () => false,
    async run(context) {
      const { run } = context.document;
      if (run.kind !== "exec_per_job")
        throw new Error(`the exec_per_job runner was given a job of kind ${run.kind}`);
      const input = jobInputOf(context);
      return runProcess(deps, context, {
        argv: [...run.worker_command, Buffer.from(canonicalize(input)).toString("base64")],
        secrets: run.secrets,
        input,
      });
    },
  };
}
