import type { Outputs } from "../../../output/outputs.ts";
import { repeat, type Service } from "../../../runtime/service.ts";
import type { HubDeps } from "../../deps.ts";
import { LeftOutputs } from "../left-outputs.ts";
import { OutputSurvey } from "./output-survey.ts";

/** If the hub is killed, sizes from at most this time are unrecorded. */
const roundMs = 5_000;
/** The share of the disk, if no ceiling is set. */
const shareOfDisk = 0.8;
/** How far below the ceiling a round goes, so that not every round has to remove output. */
const marginShare = 0.05;
/** A turn is one transaction; a round that removes this much leaves the rest to the next one. */
const jobsPerTurn = 100;
const turnsPerRound = 50;
/** After how many rounds, ten minutes, the removal of an output is tried again. */
const roundsUntilAgain = 120;

type Deps = Pick<
  HubDeps,
  "store" | "leadership" | "clock" | "logger" | "failures" | "settings" | "outputs" | "outputTally"
>;

/**
 * Records how much jobs have written, and keeps the total below the ceiling by removing the output of finished jobs,
 * oldest first.
 */
export function createStorage(deps: Deps): Service {
  const { clock, logger, failures, outputTally } = deps;
  const onError = (error: unknown) => failures.error(error, "outputs could not be kept below the ceiling");
  const left = new LeftOutputs(deps);
  const survey = new OutputSurvey(deps, left);
  let isOver = false;
  let rounds = 0;
  const service = repeat({ name: "storage", intervalMs: roundMs, clock, onError }, async (signal) => {
    if (rounds++ % roundsUntilAgain === 0) await left.removeAll();
    if (deps.leadership.isLeader) await survey.step(signal);
    await outputTally.noteAll();
    await deps.outputs.appended.syncOverdue(signal);
    const ceiling = deps.settings.maxStorageBytes ?? (await ceilingOf(deps.outputs.appended));
    if (outputTally.keptBytes > ceiling && deps.leadership.isLeader)
      await makeRoom(deps, { ceiling, signal, left });
    const wasOver = isOver;
    isOver = outputTally.keptBytes > ceiling;
    if (isOver && !wasOver) {
      const facts = { kept_bytes: outputTally.keptBytes, ceiling };
      logger.warn(facts, "outputs exceed the ceiling; those of jobs that are not finished stay");
    }
  });
  return {
    ...service,
    // The last sizes are recorded at the stop; otherwise the next start would not have them.
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
  { ceiling, signal, left }: { ceiling: number; signal: AbortSignal; left: LeftOutputs },
): Promise<void> {
  const downToBytes = Math.floor(ceiling * (1 - marginShare));
  let jobs = 0;
  let bytes = 0;
  for (let turn = 0; turn < turnsPerRound && !signal.aborted && !left.isStorageFailing; turn++) {
    const nowMs = deps.clock.nowMs();
    const { dropped, keptBytes } = await deps.store.dropOutputs({ downToBytes, limit: jobsPerTurn, nowMs });
    deps.outputTally.keptBytes = keptBytes;
    // The store first: listed output that is gone would be an error, while leftover output only wastes space.
    for (const { jobId, attempts } of dropped) {
      left.add({ jobId, remove: () => deps.outputs.appended.removeAttempts(jobId, attempts) });
    }
    await left.removeAll();
    jobs += dropped.length;
    bytes += dropped.reduce((sum, one) => sum + one.bytes, 0);
    if (dropped.length < jobsPerTurn) break;
  }
  if (jobs > 0)
    deps.logger.warn({ jobs, bytes, ceiling }, "output of finished jobs was removed to make room");
}
