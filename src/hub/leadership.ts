import { systemClock } from "../runtime/clock/clock.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { type RepeatedService, repeat, type Service } from "../runtime/service.ts";
import {
  type HubBeat,
  type HubIntroduction,
  type HubRow,
  type HubSeat,
  isLeadLost,
} from "../store/database/hub-seat.ts";
import type { FailureLog } from "./failure-log.ts";

/** How often the leader renews its claim to lead. */
const beatMs = 1_000;

/**
 * Of the hubs that use one database, one leads. Services that may run at one hub only are wrapped with `whileLeading`:
 * they stop as soon as the lead is lost, and start when it is taken. A single hub always leads. Why: ADR 0083.
 */
export class Leadership implements Service {
  readonly name = "leadership";
  readonly #seat: HubSeat;
  readonly #logger: Logger;
  readonly #failures: FailureLog;
  readonly #rounds: RepeatedService;
  readonly #listeners = new Set<() => void>();
  #last: HubBeat = { term: null, wasSilent: false, hubs: [], aheadMs: null };
  #aheadMs: number | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #beats: Promise<void> = Promise.resolve();

  /** Uses real time, because the server does. */
  constructor(seat: HubSeat, { logger, failures }: { logger: Logger; failures: FailureLog }) {
    this.#seat = seat;
    this.#logger = logger;
    this.#failures = failures;
    const options = { name: this.name, intervalMs: seat.askMs, clock: systemClock, onError: () => {} };
    this.#rounds = repeat(options, () => this.#round());
    seat.onLost(() => this.#lose());
  }

  /** Resolves after the first beat, so that services that start next know whether this hub leads. */
  async start(): Promise<void> {
    await this.#beat();
    await this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#seat.leave();
    this.#last = { ...this.#last, term: null };
  }

  /**
   * Read it right before an act that cannot be undone: a hub that was frozen may have lost the lead without noticing
   * yet.
   */
  get isLeader(): boolean {
    return this.term !== null;
  }

  get term(): number | null {
    return systemClock.monotonicMs() - this.#sentAtMs < this.#seat.silentMs ? this.#last.term : null;
  }

  /** Whether no hub served the database before this one took the lead. */
  get wasSilent(): boolean {
    return this.#last.wasSilent;
  }

  /** The hubs that serve now. */
  get hubs(): readonly HubRow[] {
    return this.#last.hubs;
  }

  /** How far the shared clock of all hubs is ahead of the monotonic one; null if this machine's own clock is used. */
  get aheadMs(): number | null {
    return this.#aheadMs;
  }

  /** Adds this hub to those that serve. */
  async introduce(hub: HubIntroduction): Promise<void> {
    this.#seat.introduce(hub);
    await this.#beat();
  }

  withdraw(): Promise<void> {
    return this.#seat.withdraw();
  }

  /** Called whenever the lead may have been taken or lost. Returns a function to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #round(): Promise<void> {
    if (this.isLeader && systemClock.monotonicMs() - this.#sentAtMs < beatMs) return;
    try {
      await this.#beat();
      if (this.#isFailing) this.#logger.info("the hub is back among the hubs of its database");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#failures.error(error, "the hub has lost its seat at the database");
      this.#isFailing = true;
      this.#lose();
    }
  }

  /** Runs beats one after the other, for all callers. */
  #beat(): Promise<void> {
    const beat = this.#beats.then(() => this.#beatOnce());
    // The caller of this beat gets its error; the next beat must run all the same.
    this.#beats = beat.catch(() => {});
    return beat;
  }

  async #beatOnce(): Promise<void> {
    const wasTerm = this.#last.term;
    const sentAtMs = systemClock.monotonicMs();
    this.#last = await this.#seat.beat();
    this.#sentAtMs = sentAtMs;
    this.#aheadMs = this.#last.aheadMs ?? this.#aheadMs;
    if (this.#last.term !== null && this.#last.term !== wasTerm) this.#logger.info("this hub leads now");
    this.#tell();
  }

  #lose(): void {
    if (this.#last.term !== null) this.#logger.warn("this hub leads no longer");
    this.#last = { ...this.#last, term: null };
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

type Lead = Pick<Leadership, "isLeader" | "onChange">;

/** Wraps a service so that it runs only while this hub leads. A failed start is tried again with the next beat. */
export function whileLeading(lead: Lead, service: Service, onError: (error: unknown) => void): Service {
  let isRunning = false;
  let isWanted = false;
  let turns = Promise.resolve();
  let stopListening: () => void = () => {};
  const follow = async (): Promise<void> => {
    const shouldRun = isWanted && lead.isLeader;
    if (shouldRun === isRunning) return;
    if (shouldRun) await service.start();
    isRunning = shouldRun;
    if (!shouldRun) await service.stop();
  };
  const inTurn = (): Promise<void> => {
    const turn = turns.then(follow);
    // The caller of this turn gets its error; the next turn must run all the same.
    turns = turn.catch(() => {});
    return turn;
  };
  return {
    name: service.name,
    async start() {
      isWanted = true;
      await inTurn();
      stopListening = lead.onChange(() => void inTurn().catch(onError));
      await inTurn();
    },
    async stop() {
      isWanted = false;
      stopListening();
      await inTurn();
    },
  };
}

/**
 * For services of the leader: reports an error unless another hub has taken the lead in the middle of a round. The
 * leadership has logged that, and nothing is lost, because the other hub continues from the same position.
 */
export function unlessLeadLost(report: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!isLeadLost(error)) report(error);
  };
}
