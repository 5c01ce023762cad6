import type { RpcJob } from "../../client/index.ts";

export const exitCodes = { timeout: 124, ours: 125, stopped: 143 } as const;

/** What `run` ends with for a job that is over, as shells and `timeout` have it, and a line when it needs a reason. */
export function exitCodeOfJob(job: Pick<RpcJob, "state" | "exit_code" | "reason">): {
  exitCode: number;
  says?: string;
} {
  const { state, exit_code: exitCode, reason } = job;
  if (state === "EXITED") return { exitCode: exitCode ?? 0 };
  // Somebody else has stopped it, with the signal that a stop begins with.
  if (state === "STOPPED") return { exitCode: exitCodes.stopped, says: "the job was stopped" };
  const says = reason || "the job failed and the hub gave no reason";
  if (isTimeout(reason)) return { exitCode: exitCodes.timeout, says };
  return { exitCode: exitCode !== null && exitCode > 0 ? exitCode : exitCodes.ours, says };
}

function isTimeout(reason: string): boolean {
  return /\bTIMEOUT\b|^ran longer than /.test(reason);
}
