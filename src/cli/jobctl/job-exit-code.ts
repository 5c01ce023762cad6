import type { RpcJob } from "../../client/index.ts";
import type { FailureClass } from "../../core/failure.ts";

export const exitCodes = { timeout: 124, ours: 125, stopped: 143 } as const;

/** What `run` ends with for a job that is over, as shells and `timeout` have it, and a line when it needs a reason. */
export function exitCodeOfJob(job: Pick<RpcJob, "state" | "exit_code" | "fail_code" | "reason">): {
  exitCode: number;
  says?: string;
} {
  const { state, exit_code: exitCode, fail_code: failCode, reason } = job;
  if (state === "EXITED") return { exitCode: exitCode ?? 0 };
  // Somebody else has stopped it, with the signal that a stop begins with.
  if (state === "STOPPED") return { exitCode: exitCodes.stopped, says: "the job was stopped" };
  // The reason is only shown: its words are for people, and may be those of the job.
  const says = reason || "the job failed and the hub gave no reason";
  if (failCode === ("TIMEOUT" satisfies FailureClass)) return { exitCode: exitCodes.timeout, says };
  // 126, 127 and 128 + n are the attempt's own codes; without one, it was not the command that failed.
  return { exitCode: exitCode !== null && exitCode > 0 ? exitCode : exitCodes.ours, says };
}
