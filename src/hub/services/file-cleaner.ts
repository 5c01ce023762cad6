import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";

const roundMs = 15_000;
const filesPerTurn = 200;
const turnsPerRound = 50;
/** How long what a running attempt has stored is left alone before it is looked at again. */
const holdMs = 3_600_000;

type Deps = Pick<HubDeps, "store" | "clock" | "logger" | "objects">;

/**
 * Removes the bytes of files that no longer exist: deleted, expired, replaced, of deleted jobs, and what attempts have
 * left behind. The row goes last, so what is interrupted is done again.
 */
export function createFileCleaner(deps: Deps): Service {
  const { clock, logger } = deps;
  const onError = (error: unknown) => logger.error({ err: error }, "files could not be removed");
  return repeat({ name: "file cleaner", intervalMs: roundMs, clock, onError }, (signal) =>
    removeExpired(deps, signal),
  );
}

async function removeExpired({ store, clock, objects }: Deps, signal: AbortSignal): Promise<void> {
  for (let turn = 0; turn < turnsPerRound && !signal.aborted; turn++) {
    const nowMs = clock.nowMs();
    const due = await store.listExpired({ nowMs, holdUntil: nowMs + holdMs, limit: filesPerTurn });
    if (due.length === 0) return;
    const removed: string[] = [];
    try {
      for (const object of due) {
        if (signal.aborted) break;
        await objects.remove(object);
        removed.push(object.id);
      }
    } finally {
      if (removed.length > 0) await store.forgetObjects({ ids: removed });
    }
  }
}
