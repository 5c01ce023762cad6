import type { Logger } from "../runtime/log/logger.ts";
import type { DatabaseOutage } from "./database/database-outage.ts";

type Fields = Record<string, unknown>;

/**
 * Reports errors that reach no caller. An error updates what the hub knows about its database and disks; it has a line
 * of its own in the log unless the lines about the outage stand for it.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #outage: Pick<DatabaseOutage, "noticed">;

  constructor(logger: Logger, outage: Pick<DatabaseOutage, "noticed">) {
    this.#logger = logger;
    this.#outage = outage;
  }

  error(error: unknown, message: string, fields: Fields = {}): void {
    if (!this.#outage.noticed(error)) this.#logger.error({ err: error, ...fields }, message);
  }

  warn(error: unknown, message: string, fields: Fields = {}): void {
    if (!this.#outage.noticed(error)) this.#logger.warn({ err: error, ...fields }, message);
  }
}
