import { backOffMs } from "../../runtime/clock/back-off.ts";
import { untilAborted } from "../../runtime/clock/until-aborted.ts";
import type { RunnerDeps } from "../runner.ts";
import type { PooledWorker } from "./worker-pool.ts";

/** How long a process that serves jobs may be busy: as long as one may take to start on a busy machine. */
const busyMs = 120_000;
/** How long a process without jobs may be busy. Its replacement costs a start and no job. */
const idleMs = 15_000;
const pauseMs = { firstMs: 10, maxMs: 1_000 };
/** When a socket is gone because its process has died, the end is known within this time. */
const deathMs = 1_000;

/** Why a process should be given no job; null if it may have one now. Waits for one that is busy. Why: ADR 0044. */
export async function findProblem(
  { clock }: Pick<RunnerDeps, "clock">,
  worker: PooledWorker,
  signal: AbortSignal,
): Promise<string | null> {
  const { process } = worker;
  const startedAtMs = clock.monotonicMs();
  for (let looks = 0; ; looks++) {
    const look = await untilAborted(process.look(), signal);
    if (look.kind === "ready") return null;
    if (look.kind === "lost") {
      const enough = new AbortController();
      // The end of the process ends this wait.
      await Promise.race([process.gone, clock.sleep(deathMs, enough.signal).catch(() => {})]);
      enough.abort();
      return look.problem;
    }
    const waitedMs = clock.monotonicMs() - startedAtMs;
    if (waitedMs >= (worker.serving > 0 ? busyMs : idleMs)) return look.problem;
    await clock.sleep(backOffMs(looks, pauseMs), signal);
  }
}
