import type { Service } from "../../runtime/service.ts";
import { checkDatabase } from "../../store/sqlite/database/check-database.ts";
import type { HubDeps } from "../deps.ts";

/** The check waits while workers and clients reconnect. */
const delayMs = 10_000;

/**
 * Checks the structure of the database file once after each start, and records what is wrong with it. Why: ADR 0029.
 */
export function createStoreCheck(
  { clock, failures, damage }: Pick<HubDeps, "clock" | "failures" | "damage">,
  databasePath: string,
): Service {
  const stopping = new AbortController();
  const { signal } = stopping;
  let over: Promise<void> = Promise.resolve();
  const check = async (): Promise<void> => {
    await clock.sleep(delayMs, signal);
    const problems = await checkDatabase(databasePath, signal);
    if (problems.length === 0) return;
    const more = problems.length === 1 ? "" : `, and ${problems.length - 1} more`;
    const error = `SQLite's quick_check of the database found: ${problems[0]}${more}`;
    await damage.record({ job: null, parts: [], error });
  };
  return {
    name: "store check",
    async start() {
      over = check().catch((error: unknown) => {
        if (!signal.aborted) failures.error(error, "the database could not be checked");
      });
    },
    async stop() {
      stopping.abort();
      await over;
    },
  };
}
