import type { Clock } from "../runtime/clock/clock.ts";
import type { RunningProcess } from "./sandbox.ts";

export type Terminator<R extends string> = {
  /** Why the process was terminated; the first reason wins, and undefined means that it ended by itself. */
  readonly reason: R | undefined;
  /**
   * Resolves when the process is gone. A later call can only make it faster: `graceMs: 0` ends the grace of an earlier
   * one.
   */
  stop(reason: R, options: { graceMs: number }): Promise<void>;
};

/** Terminates a process with time to clean up: SIGTERM to its group, a grace period, then the whole tree is killed. */
export function createTerminator<R extends string>(running: RunningProcess, clock: Clock): Terminator<R> {
  let reason: R | undefined;
  let isOver = false;
  const exited = running.exited.then(() => {
    isOver = true;
  });
  const hurry = new AbortController();

  const stopInOrder = async (graceMs: number): Promise<void> => {
    if (graceMs > 0) {
      running.signalGroup("SIGTERM");
      // A later call without grace ends this wait.
      await Promise.race([exited, clock.sleep(graceMs, hurry.signal).catch(() => {})]);
    }
    if (!isOver) await running.killTree();
    await exited;
  };

  return {
    get reason() {
      return reason;
    },
    async stop(why, { graceMs }) {
      if (isOver) return;
      if (graceMs === 0) hurry.abort();
      if (reason !== undefined) return exited;
      reason = why;
      await stopInOrder(graceMs);
      // A grace that was not needed must not keep its timer.
      hurry.abort();
    },
  };
}
