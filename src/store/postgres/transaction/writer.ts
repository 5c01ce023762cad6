import { WritError } from "../../../core/errors.ts";
import type { ActName } from "../../act-names.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import type { DatabaseInUse } from "../../database/database-in-use.ts";
import type { ConnectionSettings } from "../connection/connection.ts";
import { blame, storeUnavailable } from "../connection/postgres-error.ts";
import type { ServerPulse } from "../connection/server-pulse.ts";
import type { Committed } from "../hubs/wake-message.ts";
import { type Answer, describeError } from "./answers.ts";
import { Lane } from "./lane.ts";
import { type StoreContext, Transaction } from "./transaction.ts";
import { groupActs, leaderActs, runSingle } from "./write-acts.ts";

type Request = {
  act: ActName;
  input: unknown;
  tries: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
};

/** Enough to keep the database busy while other lanes wait for its disk. */
const lanesMax = 4;
/** As many acts as share one commit. */
const groupMax = 256;
/** A caller that asks faster than the database answers is told so. */
const waitingMax = 100_000;
const triesMax = 5;

/**
 * Writes in groups: acts of one kind that arrive together share a transaction, and several transactions are under way at
 * the same time, each on a connection of its own. Claims are not: the turns of tenants are decided one after the other.
 * Why: ADR 0080, ADR 0087.
 */
export class Writer {
  readonly #context: StoreContext;
  readonly #inUse: DatabaseInUse;
  readonly #lanes: Lane[];
  readonly #free: Lane[];
  readonly #waiting = new Map<string, Request[]>();
  readonly #running = new Map<string, number>();
  readonly #onCommit: (committed: Committed) => void;
  #count = 0;
  #isClosed = false;
  #isScheduled = false;
  /** The last call was answered after the store was closed. */
  readonly #idle = Promise.withResolvers<void>();

  constructor(
    settings: ConnectionSettings & { inUse: DatabaseInUse },
    pulse: ServerPulse,
    context: StoreContext,
    onCommit: (committed: Committed) => void,
  ) {
    this.#context = context;
    this.#inUse = settings.inUse;
    this.#lanes = Array.from({ length: lanesMax }, () => new Lane({ ...settings, isHot: true }, pulse));
    this.#free = [...this.#lanes];
    this.#onCommit = onCommit;
  }

  call(act: ActName, input: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new WritError("STORE_UNAVAILABLE", "the store is closed"));
    if (this.#count >= waitingMax)
      return Promise.reject(new WritError("STORE_UNAVAILABLE", `${waitingMax} calls are already waiting`));
    return new Promise((resolve, reject) => {
      this.#count++;
      const end = (how: (value: unknown) => void) => (value: unknown) => {
        how(value);
        this.#count--;
        if (this.#isClosed && this.#count === 0) this.#idle.resolve();
      };
      this.#enqueue([{ act, input, tries: 0, resolve: end(resolve), reject: end(reject) }]);
    });
  }

  /** Earlier calls are still answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#count > 0) await this.#idle.promise;
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  /** What is asked for in one turn of the event loop goes together. */
  #enqueue(requests: Request[]): void {
    // Even if some wait already: they may be of a kind that has all its lanes, while others are free.
    if (!this.#isScheduled) queueMicrotask(() => this.#dispatch());
    this.#isScheduled = true;
    for (const request of requests) {
      const kind = kindOf(request);
      const waiting = this.#waiting.get(kind);
      if (waiting === undefined) this.#waiting.set(kind, [request]);
      else waiting.push(request);
    }
  }

  /** Kinds take turns: one that never ends must not keep the others from the lanes. */
  #dispatch(): void {
    this.#isScheduled = false;
    for (const [kind, requests] of this.#waiting) {
      if (this.#free.length === 0) return;
      if ((this.#running.get(kind) ?? 0) >= lanesFor(kind)) continue;
      const group = requests.splice(0, kind === "single" ? 1 : groupMax);
      // A map keeps its order: what is put back at its end has its turn after all the others.
      this.#waiting.delete(kind);
      if (requests.length > 0) this.#waiting.set(kind, requests);
      void this.#run(this.#free.pop()!, kind, group);
    }
  }

  async #run(lane: Lane, kind: string, group: Request[]): Promise<void> {
    this.#running.set(kind, (this.#running.get(kind) ?? 0) + 1);
    try {
      await this.#runGroup(lane, group);
    } finally {
      this.#running.set(kind, this.#running.get(kind)! - 1);
      this.#free.push(lane);
      this.#dispatch();
    }
  }

  async #runGroup(lane: Lane, group: Request[]): Promise<void> {
    try {
      await this.#attempt(lane, group);
    } catch (error) {
      this.#context.shared.floors.clear();
      if (isOfServer(error)) {
        for (const { reject } of group) reject(storeUnavailable(error));
      } else if (group.length > 1) {
        // One of them is the cause. Each runs alone, and that one is answered alone.
        for (const request of group) await this.#runGroup(lane, [request]);
      } else await this.#answerFailure(lane, group[0]!, error);
    }
  }

  async #answerFailure(lane: Lane, request: Request, error: unknown): Promise<void> {
    if (error instanceof RefusedAct) request.resolve(error.answer);
    else if (++request.tries < triesMax && blame(error) === "again") await this.#runGroup(lane, [request]);
    else request.reject(describeError(error));
  }

  async #attempt(lane: Lane, group: Request[]): Promise<void> {
    const ended = Promise.withResolvers<void>();
    try {
      await this.#transact(lane, group, ended.promise);
    } finally {
      ended.resolve();
    }
  }

  /** After repeated conflicts the act runs under the lock of the log, where no other transaction can write. */
  async #transact(lane: Lane, group: Request[], ended: Promise<void>): Promise<void> {
    const isExact = group.length === 1 && group[0]!.tries > 1;
    const { answers, tx, finished } = await lane.transact(
      (sql) => new Transaction(sql, this.#context, { isExact, ended }),
      (tx) => runActs(tx, group),
    );
    if (finished !== null) {
      this.#context.shared.committed(finished.version);
      this.#inUse.wrote(finished.last, tx.work.events.at(-1));
    }
    const lastSeq = finished?.last ?? tx.lastSeq;
    const notice = tx.work.notice.take(lastSeq - tx.work.events.length, lastSeq);
    if (notice !== null && notice.ready.length > 0) this.#context.shared.announced++;
    tx.committed();
    for (const [index, request] of group.entries()) this.#answer(request, answers[index]!);
    this.#onCommit({ version: finished?.version ?? null, notice, isSettings: tx.work.isSettings });
  }

  #answer(request: Request, answer: Answer): void {
    if ("again" in answer) this.#enqueue([request]);
    else if ("error" in answer) request.reject(describeError(answer.error));
    else request.resolve(answer.value);
  }
}

function kindOf({ act }: Request): string {
  return act in groupActs ? act : "single";
}

/**
 * The server or the way to it has failed, and with it the whole group. Whether the group was kept may be unknown, so nothing of
 * it may be done a second time.
 */
function isOfServer(error: unknown): boolean {
  if (error instanceof WritError) return error.code === "STORE_UNAVAILABLE";
  return blame(error) === "connection";
}

function lanesFor(kind: string): number {
  return kind === "claimJobs" ? 1 : kind === "single" ? lanesMax : 2;
}

async function runActs(tx: Transaction, group: Request[]): Promise<Answer[]> {
  const [{ act, input }] = group as [Request];
  const together = groupActs[act as keyof typeof groupActs] as
    | ((tx: Transaction, inputs: unknown[]) => Promise<Answer[]>)
    | undefined;
  if (together !== undefined)
    return together(
      tx,
      group.map((request) => request.input),
    );
  await tx.begin(async () => {});
  if (leaderActs.has(act)) await tx.requireLead();
  return [{ value: await runSingle(tx, act, input) }];
}
