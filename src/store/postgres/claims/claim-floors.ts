/** Where a job is in its queue: the best rank first, then the lowest number. */
export type Position = { rank: number; seq: number };

type Floor = Position & {
  /** When its queue was last read from its very beginning, and how often others had written by then. */
  walkedAt: number;
  foreignWrites: number;
};

/** What is below a floor was taken. Whatever this store has not seen there is found by the next claim after this time. */
const trustedMs = 1_000;
/** The same once others have written. */
const foreignMs = 100;
/** A hub with more queues than this forgets all floors and begins again. */
const floorsMax = 10_000;

/**
 * For each queue, the position before which nothing is left to claim. A claim that begins there does not walk over the
 * jobs that were taken before it: their rows are dead, and stay in the index for as long as any transaction, such as a
 * backup, could still see them. What this store puts below a floor lowers it. Why: ADR 0087.
 */
export class ClaimFloors {
  readonly #floors = new Map<number, Floor>();
  readonly #readings = new Set<Reading>();
  #foreignWrites = 0;

  /** A transaction begins to read the fronts of queues. */
  read(nowMs: number): Reading {
    const reading = new Reading(this, nowMs);
    this.#readings.add(reading);
    return reading;
  }

  of(queueId: number, nowMs: number): Floor | null {
    const floor = this.#floors.get(queueId);
    if (floor === undefined) return null;
    // A clock may also have been set back.
    const isOver = Math.abs(nowMs - floor.walkedAt) >= (this.isExact(floor) ? trustedMs : foreignMs);
    return isOver ? null : floor;
  }

  /** Whether no other store has written since its queue was read from the beginning. */
  isExact({ foreignWrites }: Floor): boolean {
    return foreignWrites === this.#foreignWrites;
  }

  /** A job can be claimed here now. A transaction that is already reading may miss it. */
  came(queueId: number, position: Position): void {
    const floor = this.#floors.get(queueId);
    if (floor !== undefined && isBefore(position, floor))
      this.#floors.set(queueId, { ...floor, ...position });
    for (const reading of this.#readings) reading.came(queueId, position);
  }

  /** Another store has written to the database. */
  noteForeign(): void {
    this.#foreignWrites++;
  }

  /** A transaction has failed, and what it took may be there again. */
  clear(): void {
    this.#floors.clear();
    this.#readings.clear();
  }

  /** False if the floors were cleared meanwhile. */
  end(reading: Reading): boolean {
    return this.#readings.delete(reading);
  }

  raise(queueId: number, position: Position, walkedAt: number | null): void {
    const floor = this.#floors.get(queueId);
    if (walkedAt === null && floor === undefined) return;
    if (floor === undefined && this.#floors.size >= floorsMax) this.clear();
    const walk =
      walkedAt === null
        ? { walkedAt: floor!.walkedAt, foreignWrites: floor!.foreignWrites }
        : { walkedAt, foreignWrites: this.#foreignWrites };
    const isBehind = floor !== undefined && isBefore(position, floor);
    this.#floors.set(queueId, isBehind ? { ...floor, ...walk } : { ...position, ...walk });
  }
}

/** What one transaction has read of queues, from its first read to its commit. */
export class Reading {
  readonly #floors: ClaimFloors;
  readonly #nowMs: number;
  /** Where each queue was begun; null for its very beginning. */
  readonly #begun = new Map<number, Floor | null>();
  readonly #positions = new Map<number, Position[]>();
  readonly #came = new Map<number, Position>();

  constructor(floors: ClaimFloors, nowMs: number) {
    this.#floors = floors;
    this.#nowMs = nowMs;
  }

  /** Where to begin; null for the very beginning. */
  beginAt(queueId: number): Position | null {
    const isWalked = this.#begun.get(queueId) === null;
    const floor = isWalked ? null : this.#floors.of(queueId, this.#nowMs);
    const begun =
      floor !== null && this.#cameBefore(queueId, floor) ? { ...floor, ...this.#came.get(queueId) } : floor;
    this.#begun.set(queueId, begun);
    return begun;
  }

  /** Whether nothing can be before the place where this queue was begun, as far as is known now. */
  isExact(queueId: number): boolean {
    const begun = this.#begun.get(queueId) ?? null;
    return begun === null || (this.#floors.isExact(begun) && !this.#cameBefore(queueId, begun));
  }

  #cameBefore(queueId: number, position: Position): boolean {
    const came = this.#came.get(queueId);
    return came !== undefined && isBefore(came, position);
  }

  /** From now on this queue is read from its beginning. */
  walk(queueId: number): void {
    this.#begun.set(queueId, null);
  }

  found(queueId: number, positions: Position[]): void {
    this.#positions.set(queueId, positions);
  }

  /** A job that can be claimed here, of this transaction or of one that has committed since it began to read. */
  came(queueId: number, position: Position): void {
    const known = this.#came.get(queueId);
    if (known === undefined || isBefore(position, known)) this.#came.set(queueId, position);
  }

  /** The transaction is committed. What it has read and left is where the next claim begins. */
  end(isTaken: (seq: number) => boolean): void {
    if (!this.#floors.end(this)) return;
    for (const [queueId, positions] of this.#positions) {
      const left = positions.find(({ seq }) => !isTaken(seq));
      const next = left ?? positions.at(-1);
      const walkedAt = this.#begun.get(queueId) === null ? this.#nowMs : null;
      if (next !== undefined) {
        const floor = this.#cameBefore(queueId, next) ? this.#came.get(queueId)! : next;
        this.#floors.raise(queueId, floor, walkedAt);
      }
      // Others skipped what was locked here, and may have set their floor behind it.
      if (left !== undefined) this.#floors.came(queueId, left);
    }
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.seq < b.seq);
}
