import { exitOutcome } from "../exit-outcome.ts";
import { notBegun, type RunContext, type RunOutcome } from "../runner.ts";
import { lastWords } from "./worker-logs.ts";
import { notReady, type WorkerProcess } from "./worker-process.ts";

/** The outcome of a job whose process ended while the job waited for it or ran in it. */
export async function endOutcome(
  process: WorkerProcess,
  context: Pick<RunContext, "lease">,
  when: "before it was ready" | "in the middle of the job",
): Promise<RunOutcome> {
  const { exit, stoppedBecause } = await process.gone;
  // A job is not charged when its worker was stopped.
  if (stoppedBecause !== undefined) {
    const released: RunOutcome = { kind: "released", reason: stoppedBecause };
    return when === "before it was ready" ? notBegun(released) : released;
  }
  if (exit === undefined || process.running === undefined)
    throw notReady(`${process.who} could not be started`);

  const { isolation } = process.running;
  const result = { kind: "none" } as const;
  const argv = process.spec.command;
  const outcome = exitOutcome(context, { argv, exit, stoppedBy: undefined, result, isolation });
  if (outcome.kind === "released" || exit.spawnError !== undefined || exit.lost !== undefined) return outcome;

  const words = exit.signal === null ? await lastWords(process.logs) : "";
  const how =
    outcome.kind === "failed" ? outcome.reason.replace(/^killed/, "was killed") : "exited with code 0";
  const reason = `${process.who} ${how} ${when}${words}`;
  const detail =
    when === "before it was ready"
      ? "WORKER_NOT_READY"
      : outcome.kind === "failed"
        ? outcome.detail
        : "WORKER_EXIT_ERROR";
  const facts = { usage: exit.usage, isolation };
  return {
    kind: "failed",
    code: "EXECUTION_ERROR",
    ...(detail === undefined ? {} : { detail }),
    reason,
    ...facts,
  };
}
