import { repeat, type Service } from "../../../runtime/service.ts";
import type { HubDeps } from "../../deps.ts";

const roundMs = 15_000;
const filesPerTurn = 200;
const turnsPerRound = 50;
/**
 * A file that cannot be removed does not block the others; after this many failures in a round, the storage counts as
 * failing.
 */
const failuresMax = 10;
/** How soon files of a running attempt are examined again. */
const holdMs = 3_600_000;

type Deps = Pick<HubDeps, "store" | "clock" | "failures" | "objects">;

/**
 * Removes the bytes of files that no longer exist: deleted, expired or replaced ones, those of deleted jobs, and
 * leftovers of attempts. The row is removed last, so an interrupted removal is done again. Why: ADR 0041, ADR 0093.
 */
export function createFileCleaner(deps: Deps): Service {
  const { clock, failures } = deps;
  const onError = (error: unknown) => failures.error(error, "files could not be removed");
  return repeat({ name: "file cleaner", intervalMs: roundMs, clock, onError }, (signal) =>
    removeExpired(deps, signal),
  );
}

async function removeExpired({ store, clock, objects }: Deps, signal: AbortSignal): Promise<void> {
  const failures = new Map<string, unknown>();
  for (let turn = 0; turn < turnsPerRound && !signal.aborted; turn++) {
    const nowMs = clock.nowMs();
    const expired = await store.listExpired({ nowMs, holdUntil: nowMs + holdMs, limit: filesPerTurn });
    const due = expired.filter(({ id }) => !failures.has(id));
    if (due.length === 0) break;
    const removed: string[] = [];
    for (const object of due) {
      if (signal.aborted || failures.size >= failuresMax) break;
      try {
        await objects.remove(object);
        removed.push(object.id);
      } catch (error) {
        failures.set(object.id, error);
      }
    }
    if (removed.length > 0) await store.forgetObjects({ ids: removed });
    if (failures.size >= failuresMax) break;
  }
  for (const [, error] of failures) throw error;
}
