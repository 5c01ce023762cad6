import type { RunnerDeps } from "../runner.ts";
import { AgentProcess } from "./agent-process.ts";

/** In addition to the job's grace period: the agent has to start and to report. */
const marginMs = 20_000;
const hurryMs = 3_000;

/** The command into a container, with its environment. */
export type ContainerEntry = { exec: readonly string[]; env: Readonly<Record<string, string>> };

/**
 * `writ-agent stop-job` in the container. Resolves when it has ended in any way, after a limited time: true if the job
 * has ended there.
 */
export async function stopInContainer(
  { clock, settings, logger }: RunnerDeps,
  { entry, jobId, hurry }: { entry: ContainerEntry; jobId: string; hurry: AbortSignal },
): Promise<boolean> {
  const argv = [...entry.exec, "writ-agent", "stop-job", "--job-id", jobId];
  const stopper = new AgentProcess({ argv, env: entry.env, onPiece: () => {} });
  stopper.abandon();
  const over = new AbortController();
  const limitMs = hurry.aborted ? hurryMs : settings.stopGraceMs + marginMs;
  // The end of the program ends this wait.
  const late = clock.sleep(limitMs, over.signal).catch(() => {});
  const exit = await Promise.race([stopper.exited, late]);
  over.abort();
  if (exit?.exit.code === 0) return true;
  stopper.kill();
  logger.warn(
    { job_id: jobId, said: exit?.text ?? "no answer" },
    "a job in a container could not be stopped",
  );
  return false;
}

type Ending = {
  agent: AgentProcess;
  entry: ContainerEntry;
  jobId: string;
  hurry: AbortSignal;
  /** Aborted when the agent has ended. */
  over: AbortSignal;
};

/**
 * Ends a job in its container: with `stop-job`, and if the agent has not ended in time, by closing its standard input
 * and killing the program that leads there. Without time for a grace period the agent is told so.
 */
export async function endAgent(
  deps: RunnerDeps,
  { agent, entry, jobId, hurry, over }: Ending,
): Promise<void> {
  const { clock, settings, logger } = deps;
  const isLate = new AbortController();
  const endNow = (): void => {
    agent.send({ hurry: true });
    agent.abandon();
    clock.setTimer(() => isLate.abort(), hurryMs);
  };
  if (hurry.aborted) endNow();
  else hurry.addEventListener("abort", endNow, { once: true });
  // Not awaited, so its error must not end the worker.
  void stopInContainer(deps, { entry, jobId, hurry })
    .catch((error: unknown) => {
      logger.warn({ err: error, job_id: jobId }, "a job in a container could not be stopped");
      return false;
    })
    // An agent that has only just been started may not know its job yet. It ends the job when its standard input is
    // closed.
    .then((isStopped) => isStopped || agent.abandon());
  // The end of the agent, or a lack of grace, ends this wait.
  await clock.sleep(settings.stopGraceMs + marginMs, AbortSignal.any([over, isLate.signal])).catch(() => {});
  hurry.removeEventListener("abort", endNow);
  if (over.aborted) return;
  logger.error({ job_id: jobId }, "the agent in a container did not end its job in time");
  agent.abandon();
  agent.kill();
}
