import { jobSubmission } from "../contract/shapes/submit-shapes.ts";
import { checkOptions, type OptionNames } from "../runtime/check-options.ts";
import { type WaitOptions, waitOptions } from "./jobs/wait-job.ts";
import type { SubmitOptions } from "./shapes.ts";
import { optionName } from "./wire-names.ts";

/** How long `run` waits, and in `submit` the job's priority, deadline and so on. */
export type RunOptions = WaitOptions & { submit?: SubmitOptions | undefined };

const runOptions: OptionNames<RunOptions> = { ...waitOptions, submit: true };

/** What the definition and the params say already; a delay is given as text. */
const notOptions = ["type", "params", "run", "solver_url", "solver_checksum", "delay_ms"];

const submitOptions: Readonly<Record<string, true>> = Object.fromEntries(
  [...Object.keys(jobSubmission.shape).filter((name) => !notOptions.includes(name)), "delay"].map(
    (name): [string, true] => [optionName(name), true],
  ),
);

export function checkSubmitOptions(options: SubmitOptions): void {
  checkOptions("submit", options, submitOptions);
}

export function checkRunOptions(options: RunOptions): void {
  checkOptions("run", options, runOptions, (name) =>
    Object.hasOwn(submitOptions, optionName(name)) ? `write { submit: { ${optionName(name)} } };` : undefined,
  );
}
