import { WritError } from "../../core/errors.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import { raiseAlarm } from "../alerts/alarm.ts";
import type { Channel } from "../alerts/channel.ts";
import type { DatabaseOutage } from "../database-outage.ts";
import type { HubDeps } from "../deps.ts";
import { writeKnownDatabase } from "../known-database.ts";

const roundMs = 1_000;

/**
 * Keeps in the home how far the log has come, so that a start notices when its database ends before that. And raises the
 * alarm when the database, or its log file, is no longer the one that was opened: the store answers nothing more then.
 */
export function createStoreWatch(
  deps: HubDeps,
  { channels, outage }: { channels: readonly Channel[]; outage: DatabaseOutage },
): Service {
  const { store, home, clock, logger } = deps;
  let notedSeq = 0;
  let isLost = false;
  let isNoteFailing = false;
  const note = async (id: string, lastSeq: number): Promise<void> => {
    try {
      await writeKnownDatabase(home, { database_id: id, last_seq: lastSeq });
      notedSeq = lastSeq;
      isNoteFailing = false;
    } catch (error) {
      if (!isNoteFailing) logger.error({ err: error }, "database.json could not be written; trying again");
      isNoteFailing = true;
    }
  };
  const onError = (error: unknown) => logger.error({ err: error }, "the database could not be watched");
  return repeat({ name: "store watch", intervalMs: roundMs, clock, onError }, async (signal) => {
    try {
      const { id, lastSeq } = await store.getDatabase();
      outage.answered();
      if (isLost) logger.warn("the database is back; calls are answered again");
      isLost = false;
      if (lastSeq === notedSeq) return;
      await note(id, lastSeq);
    } catch (error) {
      outage.noticed(error);
      const lost = error instanceof WritError ? error.details?.["lost"] : undefined;
      // A disk that is full or fails is reported by the calls that it makes fail.
      if (typeof lost !== "string" || isLost) return;
      isLost = true;
      logger.fatal(
        { file: lost },
        "the database is no longer the file that the hub opened; every call is refused until it is back, or the hub is restarted",
      );
      await raiseAlarm(deps, channels, { file: lost, signal });
    }
  });
}
