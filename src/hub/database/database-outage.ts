import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { OutageLog } from "../../runtime/log/outage-log.ts";

/** Calls that were under way when the database returned may still fail within this time. */
const quietMsMin = 1_000;
/** A full disk fails only writes, and workers cause one at least every 10 seconds. */
const roomMs = 30_000;

/**
 * What the hub knows about an outage of its database and about full disks. Each place that handles an error reports it
 * here; health and alerts read it. Everything that runs in the hub notices an outage, many times a second; a few lines
 * in the log stand for all of that, with the duration and the number of refused calls. The hub's terminal shows the
 * same, and when the disk of the database is full, because then the log is full too.
 */
export class DatabaseOutage {
  readonly #log: OutageLog<WritError>;
  readonly #fullDisk: OutageLog<WritError>;
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

  /** Returns whether the lines about the outage stand for this error, which then needs none of its own. */
  noticed(error: unknown): boolean {
    if (!(error instanceof WritError)) return false;
    if (error.details?.["full"] === true) this.#fullDisk.noticed(error);
    if (hasNoRoom(error)) this.#fullStorageAtMs = this.#clock.monotonicMs();
    // The drivers mark errors that only mean that the server cannot be used at present.
    if (error.details?.["away"] !== true) return false;
    this.#log.noticed(error);
    return true;
  }

  /** Counts a call that was answered with 503. Returns whether the lines about the outage stand for it. */
  refused(): boolean {
    if (this.#log.isOn) this.#refused++;
    return this.#log.isOn;
  }

  /** The database has answered. */
  answered(): void {
    if (this.#log.quietMs >= quietMsMin) this.#log.over();
    if (this.#fullDisk.quietMs >= roomMs) this.#fullDisk.over();
  }
}

/** The drivers of outputs and of files give the code of the failed write as the reason. */
function hasNoRoom({ details }: WritError): boolean {
  return ["ENOSPC", "EDQUOT"].includes(String(details?.["reason"]));
}

/** The advice for the person, which the drivers give for each kind of outage. */
function adviceOf(error: WritError): string {
  return String(error.details?.["advice"]);
}

function factsOf(error: WritError): object {
  const { away: _, ...details } = error.details ?? {};
  return { err: error, details };
}
