import { systemClock } from "../runtime/clock.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { DatabaseOutage } from "./database-outage.ts";
import { FailureLog } from "./failure-log.ts";

/** For a part of the hub that is tested alone. */
export function failuresIn(logger: Logger): FailureLog {
  return new FailureLog(logger, new DatabaseOutage(logger, systemClock));
}

export const silentFailures = failuresIn(silentLogger);
