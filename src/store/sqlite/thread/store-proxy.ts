import { WritError } from "../../../core/errors.ts";
import { type ActName, actNames, isRead } from "../../act-names.ts";
import type { CommitNotice } from "../../event-store.ts";
import type { Store } from "../../store.ts";
import type {
  Answer,
  ErrorText,
  FromThread,
  Opened,
  ReadAnswer,
  Request,
  ToThread,
  WireAct,
} from "./wire.ts";

/** Beyond this many waiting callers, further ones are told at once to try again. */
const waitingMax = 100_000;

/** Where reads are done. */
export type Reads = Pick<StoreProxy, "call" | "close">;

/** More would keep a thread waiting that has just become free. */
const sentTogetherMax = 16;

type Waiting = { resolve(value: unknown): void; reject(error: Error): void };

/**
 * The hub's side of a thread of the database. The code that starts the thread connects the two.
 * Why: ADR 0060, ADR 0073.
 */
export class StoreProxy {
  readonly opened: Promise<Opened>;
  readonly #post: (message: ToThread) => void;
  readonly #onTransaction: (acts: number) => void;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(notice: CommitNotice) => void>();
  readonly #opening = Promise.withResolvers<Opened>();
  readonly #ended = Promise.withResolvers<void>();
  #outbox: Request[] = [];
  /** Answers of the last transaction that are still to be given. */
  #unsettled: Answer[] = [];
  #lastId = 0;
  #isClosed = false;
  /** The thread is gone. */
  isEnded = false;

  constructor(post: (message: ToThread) => void, onTransaction: (acts: number) => void = () => {}) {
    this.#post = post;
    this.#onTransaction = onTransaction;
    this.opened = this.#opening.promise;
    // A thread that only reads is not waited for; its calls fail if it does not start.
    this.opened.catch(() => {});
  }

  /** The whole store: its reads go to the other thread, everything else to this one. */
  store(reads: Reads): Store {
    const acts = Object.fromEntries(
      actNames.map((name) => {
        const thread = isRead(name) ? reads : this;
        return [name, (input?: unknown) => thread.call(name, input)];
      }),
    ) as unknown as Pick<Store, ActName>;
    return {
      ...acts,
      onCommit: (listener) => this.#listen(listener),
      // The last connection to be closed puts the log into the database, which a connection that reads cannot.
      close: () => reads.close().finally(() => this.close()),
    };
  }

  receive(message: FromThread): void {
    // Answers stay in the order of their transactions.
    this.#settleLate();
    if (message.kind === "opened") this.#opening.resolve(message);
    if (message.kind === "failed") this.#opening.reject(toError(message.error));
    if (message.kind === "read") this.#settle(message.answer);
    if (message.kind !== "batch") return;
    if (message.writes > 0) this.#onTransaction(message.writes);
    if (message.notice === null || message.notice.handedOver.length === 0) this.#settleAll(message.answers);
    else this.#settleLater(message.answers);
    if (message.notice !== null) for (const listener of this.#listeners) listener(message.notice);
  }

  /**
   * A job that was handed over begins when the claim of its worker is answered. So that claim has the rest of this turn
   * to be answered, before the calls of the transaction are.
   */
  #settleLater(answers: Answer[]): void {
    this.#unsettled = answers;
    setImmediate(() => this.#settleLate());
  }

  #settleLate(): void {
    const answers = this.#unsettled;
    this.#unsettled = [];
    this.#settleAll(answers);
  }

  #settleAll(answers: readonly Answer[]): void {
    for (const answer of answers) this.#settle(answer);
  }

  #settle(answer: Answer | ReadAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    if ("error" in answer) waiting.reject(toError(answer.error));
    else waiting.resolve("json" in answer ? JSON.parse(answer.json) : answer.value);
  }

  /** The thread is gone, for this reason: the calls that wait reject with it. */
  end(reason: string): void {
    this.#isClosed = true;
    this.isEnded = true;
    this.#outbox = [];
    this.#settleLate();
    const error = unavailable(reason);
    this.#opening.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#ended.resolve();
  }

  call(act: WireAct, input: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(unavailable("the store is closed"));
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(unavailable(`${waitingMax} calls are already waiting`));
    }
    const id = ++this.#lastId;
    if (this.#outbox.length === 0) this.#schedule();
    this.#outbox.push({ id, act, input });
    if (this.#outbox.length === sentTogetherMax) this.#send();
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #listen(listener: (notice: CommitNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Earlier calls are still answered. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#send();
      this.#post({ kind: "close" });
    }
    await this.#ended.promise;
  }

  /** A thread that works takes further calls only after that, so they wait for each other and cost one message. */
  #schedule(): void {
    if (this.#waiting.size === 0) queueMicrotask(() => this.#send());
    else setImmediate(() => this.#send());
  }

  #send(): void {
    const requests = this.#outbox;
    if (requests.length === 0) return;
    this.#outbox = [];
    this.#post({ kind: "requests", requests });
  }
}

function unavailable(reason: string): WritError {
  return new WritError("STORE_UNAVAILABLE", reason);
}

function toError({ code, message, details }: ErrorText): WritError {
  return new WritError(code, message, details);
}
