import type { Clock } from "../runtime/clock/clock.ts";
import type { ProcessExit, RunningProcess } from "../sandbox/sandbox.ts";
import { createTerminator } from "../sandbox/terminate.ts";
import type { RunContext, StopReason } from "./runner.ts";

type WaitDeps = {
  clock: Clock;
  stopGraceMs: number;
  /** Called when the process cannot be ended. */
  onStuck(error: unknown): void;
};

/** Waits for the end of a process, and terminates it when the signal aborts with a Reason. */
export async function waitForExit<Reason extends string = StopReason>(
  deps: WaitDeps,
  { signal, hurry }: Pick<RunContext, "signal" | "hurry">,
  running: RunningProcess,
): Promise<{ exit: ProcessExit; stoppedBy: Reason | undefined }> {
  const terminator = createTerminator<Reason>(running, deps.clock);
  const end = (graceMs: number): void =>
    void terminator.stop(signal.reason as Reason, { graceMs }).catch(deps.onStuck);
  const stop = (): void => end(deps.stopGraceMs);
  // When the lease is lost, another worker may already run the job, so there is no grace period.
  const stopAtOnce = (): void => end(0);
  signal.addEventListener("abort", stop, { once: true });
  hurry.addEventListener("abort", stopAtOnce, { once: true });
  if (hurry.aborted) stopAtOnce();
  else if (signal.aborted) stop();
  try {
    const exit = await running.exited;
    return { exit, stoppedBy: terminator.reason };
  } finally {
    signal.removeEventListener("abort", stop);
    hurry.removeEventListener("abort", stopAtOnce);
  }
}
