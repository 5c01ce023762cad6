import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { unavailable } from "../use-cases/jobs/judge-workers.ts";
import { findSilentWorkers, findStrandedTypes } from "./find-troubles.ts";
import { hubName } from "./hub-name.ts";
import { waitingMax } from "./sender.ts";
import { compareTroubles, type ToldTroubles, type Trouble, troubleText } from "./troubles.ts";

const roundMs = 5_000;
/** A worker that restarts, or that starts after its first job was submitted, needs less than this. */
const graceMs = 60_000;
const readerName = "troubles";

type WatchDeps = Pick<HubDeps, "store" | "feed" | "clock" | "logger" | "failures" | "keys" | "home"> & {
  settings: Pick<HubDeps["settings"], "publicUrl" | "workerInactiveMs">;
  channels: readonly { name: string }[];
};

/**
 * Alerts people when a worker has fallen silent, or when jobs wait that no worker takes: once when that begins and once
 * when it ends. What was reported is stored with the messages, so neither a restart nor another leader repeats it.
 */
export function createTroubleWatch(deps: WatchDeps): Service {
  const { store, clock, logger, failures } = deps;
  const onError = (error: unknown) =>
    failures.error(error, "workers and queues could not be checked for troubles");
  /** When each type began to wait, as far as this hub has seen it as leader. */
  const waitsSince = new Map<string, number>();
  return repeat({ name: "trouble watch", intervalMs: roundMs, clock, onError }, async () => {
    // While the hub is locked no worker runs jobs, and the lockdown has an alert of its own.
    if ((await store.getLockdown()) !== null) return;
    const { memory } = await store.getLogReader({ name: readerName });
    const nowMs = clock.nowMs();
    const workers = await store.listWorkers();
    const silent = findSilentWorkers(workers, nowMs - deps.settings.workerInactiveMs);
    // A worker that fell silent before the first watch is not reported.
    const before: ToldTroubles = memory === "" ? asTold(silent) : (JSON.parse(memory) as ToldTroubles);
    const available = workers.filter(
      (worker) => unavailable(worker, nowMs) === null && deps.keys.signerFor(worker.keyIds, nowMs) !== null,
    );
    const stranded = lastingOf(findStrandedTypes(await store.listWaitingQueues(), available), {
      since: waitsSince,
      told: before,
      nowMs: clock.monotonicMs(),
    });
    const kinds = ["WORKER_SILENT", "NO_WORKER"] as const;
    const { told, reports } = compareTroubles(before, [...silent, ...stranded], { kinds, nowMs });
    if (reports.length === 0 && memory !== "") return;
    const texts = reports.map((report) => troubleText(report, { nowMs, hub: hubName(deps) }));
    const { dropped } = await store.advanceLogReader({
      name: readerName,
      seq: deps.feed.lastSeq,
      memory: JSON.stringify(told),
      messages: deps.channels.flatMap(({ name: channel }) => texts.map((text) => ({ ...text, channel }))),
      waitingMax,
      watch: [],
      nowMs,
    });
    if (dropped > 0) logger.error({ dropped }, "too many alerts are waiting; these will not be sent");
  });
}

function asTold(silent: readonly Trouble[]): ToldTroubles {
  const troubles = Object.fromEntries(silent.map(({ subject, says }) => [subject, says]));
  return { WORKER_SILENT: { toldAtMs: 0, troubles } };
}

/** The troubles that have lasted long enough. One that was reported needs no second grace period after a restart. */
function lastingOf(
  troubles: readonly Trouble[],
  { since, told, nowMs }: { since: Map<string, number>; told: ToldTroubles; nowMs: number },
): Trouble[] {
  const subjects = new Set(troubles.map(({ subject }) => subject));
  for (const subject of since.keys()) if (!subjects.has(subject)) since.delete(subject);
  for (const subject of subjects) if (!since.has(subject)) since.set(subject, nowMs);
  const known = told.NO_WORKER?.troubles ?? {};
  return troubles.filter(
    ({ subject }) => nowMs - since.get(subject)! >= graceMs || Object.hasOwn(known, subject),
  );
}
