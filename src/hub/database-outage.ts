import { WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { OutageLog } from "../runtime/outage-log.ts";

/** What was under way when the database came back may still fail. */
const settledMs = 1_000;
/** A full disk fails only what writes, and workers write at least every 10 seconds. */
const roomMs = 30_000;

/**
 * The hub's log while its database is away. Everything that runs in the hub notices that, many times a second; those lines are
 * replaced by a few that say since when, and how many calls were refused. The person at the hub's terminal is told the same, and
 * when the disk of the database is full, because then the log is full too.
 */
export class DatabaseOutage {
  /** Takes the place of the logger that it was made for. */
  readonly logger: Logger;
  readonly #log: OutageLog;
  readonly #fullDisk: OutageLog;
  /** When a write of output or of a file last found its disk full. */
  #fullStorageAtMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;
  #refused = 0;

  constructor(logger: Logger, clock: Clock, tell: (line: string) => void = () => {}) {
    this.#clock = clock;
    this.#log = new OutageLog(clock, {
      begins: (error) => {
        const line = "the database is away; calls are refused until it is back";
        logger.error(factsOf(error), line);
        tell(`${line}; ${adviceOf(error)}`);
      },
      lasts: (error, howLong) => {
        const line = `the database is still away, for ${howLong} now; calls are refused until it is back`;
        logger.error({ ...factsOf(error), refused_calls: this.#refused }, line);
        tell(line);
      },
      ends: (howLong) => {
        const line = `the database is back after ${howLong}; calls are answered again`;
        logger.warn({ refused_calls: this.#refused }, line);
        tell(line);
        this.#refused = 0;
      },
    });
    this.#fullDisk = new OutageLog(clock, {
      begins: () => tell("the disk of the database is full; calls are refused until there is room"),
      lasts: (_, howLong) =>
        tell(
          `the disk of the database is still full, for ${howLong} now; calls are refused until there is room`,
        ),
      ends: (howLong) => tell(`there is room on the disk of the database again, after ${howLong}`),
    });
    this.logger = this.#around(logger);
  }

  /** Whether a write has found the disk full a short time ago: small ones fit now and then, and prove nothing. */
  get isDiskFull(): boolean {
    return this.#fullDisk.isOn && this.#fullDisk.quietMs < roomMs;
  }

  /** The same for the disks of outputs and files, which need not be that of the database. */
  get isStorageFull(): boolean {
    return this.#clock.monotonicMs() - this.#fullStorageAtMs < roomMs;
  }

  get isOn(): boolean {
    return this.#log.isOn;
  }

  noticed(error: unknown): void {
    if (isAway(error)) this.#log.noticed(error);
  }

  /** The database has answered. */
  answered(): void {
    if (this.#log.quietMs >= settledMs) this.#log.over();
    if (this.#fullDisk.quietMs >= roomMs) this.#fullDisk.over();
  }

  #around(logger: Logger): Logger {
    const method =
      (name: "trace" | "debug" | "info" | "warn" | "error" | "fatal") =>
      (fields: object | string, message?: string): void => {
        if (typeof fields === "string") logger[name](fields);
        else if (!this.#replaces(fields)) logger[name](fields, message);
      };
    return {
      trace: method("trace"),
      debug: method("debug"),
      info: method("info"),
      warn: method("warn"),
      error: method("error"),
      fatal: method("fatal"),
      child: (fields) => this.#around(logger.child(fields)),
      isLevelEnabled: (level) => logger.isLevelEnabled(level),
    };
  }

  /** Whether the line only says what the outage says: a failure because of it, or a call that was refused. */
  #replaces(fields: { err?: unknown; details?: unknown; status?: unknown }): boolean {
    if (says("full", fields.err) || says("full", fields)) this.#fullDisk.noticed(fields);
    if (hasNoRoom(fields.err) || hasNoRoom(fields)) this.#fullStorageAtMs = this.#clock.monotonicMs();
    if (this.#log.isOn && fields.status === 503) {
      this.#refused++;
      return true;
    }
    const failure = isAway(fields.err) ? fields.err : isAway(fields) ? fields : null;
    if (failure !== null) this.#log.noticed(failure);
    return failure !== null;
  }
}

/** The drivers mark what says nothing but that the server cannot be used at present. */
function isAway(error: unknown): boolean {
  return says("away", error);
}

/** The drivers of outputs and of files give the code of the failed write as the reason. */
function hasNoRoom(error: unknown): boolean {
  const details = (error as { details?: Record<string, unknown> } | null | undefined)?.details;
  return ["ENOSPC", "EDQUOT"].includes(String(details?.["reason"]));
}

function says(mark: "away" | "full", error: unknown): boolean {
  const details = (error as { details?: Record<string, unknown> } | null | undefined)?.details;
  return details?.[mark] === true;
}

/** What the person can do; the drivers say it for each way in which a server can be away. */
function adviceOf(error: unknown): string {
  return String((error as { details: { advice?: unknown } }).details.advice);
}

function factsOf(error: unknown): object {
  const { details, ...fields } = error as { details: Record<string, unknown> };
  const { away: _, ...shown } = details;
  return error instanceof WritError ? { err: error, details: shown } : { ...fields, details: shown };
}
