import { systemClock } from "../runtime/clock/clock.ts";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import { DatabaseOutage } from "./database/database-outage.ts";
import { FailureLog } from "./failure-log.ts";

/** A failure log for a part of the hub that is tested alone. */
export function failuresIn(logger: Logger): FailureLog {
  return new FailureLog(logger, new DatabaseOutage(logger, systemClock));
}

export const silentFailures = failuresIn(silentLogger);
