import { WritError } from "../../../core/errors.ts";
import { openServer } from "../connection/check-server.ts";
import { takeAllSeatsText } from "../connection/locks.ts";

/** Keeps every hub from a database for as long as the connection of the lock lives. Why: ADR 0083, ADR 0086. */
export async function lockDatabase(url: string): Promise<{ release(): Promise<void> }> {
  const connection = await openServer({ url });
  const lock = await connection.first<{ free: boolean }>(takeAllSeatsText);
  if (lock!.free) return { release: () => connection.close() };
  await connection.close();
  throw new WritError(
    "CONFIG_INVALID",
    "WRIT_DATABASE_URL: a hub uses this database; if it is the right one, stop all its hubs first",
  );
}
