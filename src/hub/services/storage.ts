import type { Outputs } from "../../output/outputs.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { OutputSurvey } from "./output-survey.ts";

/** Also how much is forgotten about sizes when the hub is killed. */
const roundMs = 5_000;
/** Of the disk, when no ceiling is set. */
const shareOfDisk = 0.8;
/** How far below the ceiling it goes, so that not every round finds something to remove. */
const marginShare = 0.05;
/** A turn is one transaction; a round that removes this much leaves the rest to the next one. */
const jobsPerTurn = 100;
const turnsPerRound = 50;

type Deps = Pick<HubDeps, "store" | "clock" | "logger" | "settings" | "outputs" | "outputTally">;

/** Notes how much jobs have written, and keeps the sum below the ceiling: finished jobs lose their output, oldest first. */
export function createStorage(deps: Deps): Service {
  const { clock, logger, outputTally } = deps;
  const onError = (error: unknown) =>
    logger.error({ err: error }, "outputs could not be kept below the ceiling");
  const survey = new OutputSurvey(deps);
  let isOver = false;
  const service = repeat({ name: "storage", intervalMs: roundMs, clock, onError }, async (signal) => {
    await survey.step(signal);
    await outputTally.noteAll();
    await deps.outputs.syncOverdue(signal);
    const ceiling = deps.settings.maxStorageBytes ?? (await ceilingOf(deps.outputs));
    if (outputTally.keptBytes > ceiling) await makeRoom(deps, { ceiling, signal });
    const wasOver = isOver;
    isOver = outputTally.keptBytes > ceiling;
    if (isOver && !wasOver) {
      const facts = { kept_bytes: outputTally.keptBytes, ceiling };
      logger.warn(facts, "outputs exceed the ceiling; those of jobs that are not finished stay");
    }
  });
  return {
    ...service,
    // What was written last is noted at the stop, or the next start would not know of it.
    stop: async () => {
      await service.stop();
      await outputTally.noteAll().catch(onError);
    },
  };
}

async function ceilingOf(outputs: Outputs): Promise<number> {
  const capacityBytes = await outputs.capacityBytes();
  return capacityBytes === null ? Number.POSITIVE_INFINITY : Math.floor(capacityBytes * shareOfDisk);
}

async function makeRoom(
  deps: Deps,
  { ceiling, signal }: { ceiling: number; signal: AbortSignal },
): Promise<void> {
  const downToBytes = Math.floor(ceiling * (1 - marginShare));
  let jobs = 0;
  let bytes = 0;
  for (let turn = 0; turn < turnsPerRound && !signal.aborted; turn++) {
    const nowMs = deps.clock.nowMs();
    const { dropped, keptBytes } = await deps.store.dropOutputs({ downToBytes, limit: jobsPerTurn, nowMs });
    deps.outputTally.keptBytes = keptBytes;
    // The store first: output that is listed and gone would be a lie; output that is left over is only a waste.
    for (const { jobId, attempts } of dropped) {
      await deps.outputs.removeAttempts(jobId, attempts);
    }
    jobs += dropped.length;
    bytes += dropped.reduce((sum, one) => sum + one.bytes, 0);
    if (dropped.length < jobsPerTurn) break;
  }
  if (jobs > 0)
    deps.logger.warn({ jobs, bytes, ceiling }, "output of finished jobs was removed to make room");
}
