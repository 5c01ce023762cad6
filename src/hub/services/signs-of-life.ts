import type { Clock } from "../../runtime/clock/clock.ts";
import { type RepeatedService, repeat, type Service } from "../../runtime/service.ts";
import type { Store } from "../../store/store.ts";
import type { WorkerRecord } from "../../store/worker-store.ts";
import type { FailureLog } from "../failure-log.ts";
import type { HubSettings } from "../settings/settings.ts";
import type { RecordCache } from "./record-cache.ts";

type Deps = {
  store: Pick<Store, "noteSignsOfLife">;
  workers: Pick<RecordCache<WorkerRecord | null>, "forget">;
  settings: Pick<HubSettings, "workerInactiveMs">;
  clock: Clock;
  failures: FailureLog;
};

type KnownWorker = Pick<WorkerRecord, "id" | "lastHeartbeat">;

/** `heardAt` is monotonic, because the clock may be set before the sign is written. */
type Sign = { heardAt: number; storedMs: number };

const roundMs = 1_000;

/**
 * Remembers when each worker last made a call. Every call is a sign of life, not only `POST /workers/heartbeat`, and
 * must not cost a statement: signs are kept here, and a worker's sign is written when the stored one is older than a
 * quarter of the time after which a worker is inactive. Why: ADR 0095.
 */
export class SignsOfLife implements Service {
  readonly name = "signs of life";
  readonly #deps: Deps;
  readonly #restMs: number;
  readonly #signs = new Map<string, Sign>();
  readonly #rounds: RepeatedService;
  readonly #onError = (error: unknown): void =>
    this.#deps.failures.error(error, "signs of life of workers could not be written");

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#restMs = deps.settings.workerInactiveMs / 4;
    const intervalMs = Math.min(roundMs, this.#restMs);
    const options = { name: this.name, intervalMs, clock: deps.clock, onError: this.#onError };
    this.#rounds = repeat(options, () => this.#write(this.#due()));
  }

  start(): Promise<void> {
    return this.#rounds.start();
  }

  /** Writes all signs, so that the next hub knows how long each worker has really been silent. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#tryToWrite([...this.#signs.keys()]);
  }

  /** The worker has made a call. */
  note({ id, lastHeartbeat }: KnownWorker): void {
    this.#signs.set(id, { heardAt: this.#deps.clock.monotonicMs(), storedMs: lastHeartbeat });
  }

  /** Drops a worker's sign, because a heartbeat has stored a newer one or the worker was removed. */
  forget(workerId: string): void {
    this.#signs.delete(workerId);
  }

  /** Stores that an inactive worker is back. Never rejects: a failure is tried again in the next round. */
  async activate(worker: KnownWorker): Promise<void> {
    this.note(worker);
    await this.#tryToWrite([worker.id]);
  }

  async #tryToWrite(workerIds: string[]): Promise<void> {
    await this.#write(workerIds).catch((error: unknown) => this.#onError(error));
  }

  #due(): string[] {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#signs].filter(([, { storedMs }]) => nowMs - storedMs >= this.#restMs).map(([id]) => id);
  }

  async #write(workerIds: string[]): Promise<void> {
    if (workerIds.length === 0) return;
    const { clock, store, workers } = this.#deps;
    const nowMs = clock.nowMs();
    const signs = workerIds.map((workerId) => {
      const { heardAt } = this.#signs.get(workerId)!;
      return { workerId, atMs: Math.round(nowMs - (clock.monotonicMs() - heardAt)), heardAt };
    });
    await store.noteSignsOfLife({ signs: signs.map(({ workerId, atMs }) => ({ workerId, atMs })) });
    for (const { workerId, heardAt } of signs) {
      // A call in the meantime has left a newer sign.
      if (this.#signs.get(workerId)?.heardAt === heardAt) this.#signs.delete(workerId);
      workers.forget(workerId);
    }
  }
}
