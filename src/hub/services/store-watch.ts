import { WritError } from "../../core/errors.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import { raiseAlarm } from "../alerts/alarm.ts";
import type { Channel } from "../alerts/channel.ts";
import { writeKnownDatabase } from "../database/known-database.ts";
import type { HubDeps } from "../deps.ts";

const roundMs = 1_000;

/**
 * Keeps the number of the last record in the home, so that a start notices when its database ends before that. Raises
 * the alarm when the database is no longer the one that was opened, or an older state of it: the store then refuses
 * every call. Why: ADR 0030.
 */
export function createStoreWatch(deps: HubDeps, channels: readonly Channel[]): Service {
  const { store, home, clock, logger, outage, failures, tell } = deps;
  let notedSeq = 0;
  /** Why the database is lost; null while it is there. */
  let lostBecause: string | null = null;
  let isNoteFailing = false;
  const note = async (id: string, lastSeq: number): Promise<void> => {
    try {
      await writeKnownDatabase(home, { database_id: id, last_seq: lastSeq });
      notedSeq = lastSeq;
      isNoteFailing = false;
    } catch (error) {
      if (!isNoteFailing) failures.error(error, "database.json could not be written; trying again");
      isNoteFailing = true;
    }
  };
  const onError = (error: unknown) => failures.error(error, "the database could not be watched");
  return repeat({ name: "store watch", intervalMs: roundMs, clock, onError }, async (signal) => {
    try {
      const { id, lastSeq } = await store.getDatabase();
      // The outage reports its own end.
      const isTold = outage.isOn;
      outage.answered();
      if (lostBecause !== null && !isTold) {
        const line = "the database is back; calls are answered again";
        logger.warn(line);
        tell(line);
      }
      lostBecause = null;
      // Never less than before: a start must notice what was lost.
      if (lastSeq <= notedSeq) return;
      await note(id, lastSeq);
    } catch (error) {
      outage.noticed(error);
      if (!(error instanceof WritError)) return;
      const lost = error.details?.["lost"];
      // Calls that fail because of the disk report that themselves.
      if (typeof lost !== "string" || lostBecause === error.message) return;
      const isFirst = lostBecause === null;
      lostBecause = error.message;
      const advice =
        "every call is refused until it is back; otherwise stop the hub, and its next start says how to continue";
      logger.fatal(
        { database: lost, reason: error.message },
        `the database is no longer the one that the hub opened; ${advice}`,
      );
      tell(`${error.message}; ${advice}`);
      if (isFirst) await raiseAlarm(deps, channels, { database: lost, reason: error.message, signal });
    }
  });
}
