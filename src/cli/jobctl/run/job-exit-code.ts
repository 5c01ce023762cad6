import type { RpcJob } from "../../../client/index.ts";
import type { FailureClass } from "../../../core/jobs/failure.ts";

const exitCodes = { timeout: 124, ours: 125, stopped: 143 } as const;

/** The exit code of `run` for a job that has ended, by the rules of shells and `timeout`, and a message to explain it. */
export function exitCodeOfJob(job: Pick<RpcJob, "state" | "exit_code" | "fail_code" | "reason">): {
  exitCode: number;
  message?: string;
} {
  const { state, exit_code: exitCode, fail_code: failCode, reason } = job;
  if (state === "EXITED") return { exitCode: exitCode ?? 0 };
  // Somebody else stopped it; stopping begins with SIGTERM. A command that then ends by itself, even well, was stopped too.
  if (state === "STOPPED") {
    const isSignal = exitCode !== null && exitCode > 128;
    return { exitCode: isSignal ? exitCode : exitCodes.stopped, message: "the job was stopped" };
  }
  // The reason is only printed, never parsed: its wording may change, and a job can choose part of it.
  const message = reason || "the job failed, and the hub gave no reason";
  if (failCode === ("TIMEOUT" satisfies FailureClass)) return { exitCode: exitCodes.timeout, message };
  // The attempt reports 126, 127 and 128 + n itself; without an exit code, it was not the command that failed.
  return { exitCode: exitCode !== null && exitCode > 0 ? exitCode : exitCodes.ours, message };
}
