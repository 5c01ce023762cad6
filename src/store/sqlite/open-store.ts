import { Worker } from "node:worker_threads";
import { WritError } from "../../core/errors.ts";
import { type ActName, actNames } from "../act-names.ts";
import type { CommitNotice, Store } from "../store.ts";
import type { ErrorText, FromThread, Request, ThreadSettings, ToThread } from "./wire.ts";

export type SqliteSettings = {
  path: string;
  /** 32 bytes that only the hub has; the key that seals documents at rest. */
  macKey: Buffer;
  /** How long to wait for another program that holds the database locked. */
  busyTimeoutMs?: number;
  /** Called after each transaction with the number of acts that shared it. */
  onTransaction?: (acts: number) => void;
  /** The URL of a module that exports `failpoint`; for tests only. */
  failpointModule?: string;
};

const busyTimeoutMsDefault = 5_000;
/** Beyond this many waiting callers, further ones are told at once to try again. */
const waitingMax = 100_000;

/** Opens the database in a thread of its own; the calls of one tick are sent there as one message. */
export async function openSqliteStore(settings: SqliteSettings): Promise<Store> {
  const thread = new StoreThread(settings);
  await thread.opened;
  const acts = Object.fromEntries(
    actNames.map((name) => [name, (input?: unknown) => thread.call(name, input)]),
  ) as unknown as Pick<Store, ActName>;
  return {
    ...acts,
    onCommit: (listener) => thread.listen(listener),
    close: () => thread.close(),
  };
}

type Waiting = { resolve(value: unknown): void; reject(error: Error): void };

class StoreThread {
  readonly opened: Promise<void>;
  readonly #worker: Worker;
  readonly #onTransaction: (acts: number) => void;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(notice: CommitNotice) => void>();
  readonly #opening = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #outbox: Request[] = [];
  #lastId = 0;
  #isClosed = false;

  constructor(settings: SqliteSettings) {
    this.#onTransaction = settings.onTransaction ?? (() => {});
    this.#worker = new Worker(new URL("./thread.ts", import.meta.url), {
      workerData: {
        path: settings.path,
        macKey: settings.macKey,
        busyTimeoutMs: settings.busyTimeoutMs ?? busyTimeoutMsDefault,
        failpointModule: settings.failpointModule ?? null,
      } satisfies ThreadSettings,
    });
    this.opened = this.#opening.promise;
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (error) => this.#die(String(error)));
    this.#worker.on("exit", () => this.#die("the database thread has ended"));
  }

  call(act: ActName, input: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(unavailable("the store is closed"));
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(unavailable(`${waitingMax} calls are already waiting`));
    }
    const id = ++this.#lastId;
    if (this.#outbox.length === 0) queueMicrotask(() => this.#send());
    this.#outbox.push({ id, act, input });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  listen(listener: (notice: CommitNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Earlier calls are still answered. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#send();
      this.#worker.postMessage({ kind: "close" } satisfies ToThread);
    }
    await this.#ended.promise;
  }

  #send(): void {
    const requests = this.#outbox;
    if (requests.length === 0) return;
    this.#outbox = [];
    this.#worker.postMessage({ kind: "requests", requests } satisfies ToThread);
  }

  #receive(message: FromThread): void {
    if (message.kind === "opened") this.#opening.resolve();
    if (message.kind === "failed") this.#opening.reject(toError(message.error));
    if (message.kind !== "batch") return;
    for (const answer of message.answers) {
      const waiting = this.#waiting.get(answer.id);
      if (waiting === undefined) continue;
      this.#waiting.delete(answer.id);
      if ("error" in answer) waiting.reject(toError(answer.error));
      else waiting.resolve(answer.value);
    }
    if (message.writes > 0) this.#onTransaction(message.writes);
    if (message.notice !== null) for (const listener of this.#listeners) listener(message.notice);
  }

  #die(reason: string): void {
    this.#isClosed = true;
    this.#outbox = [];
    const error = unavailable(reason);
    this.#opening.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#ended.resolve();
  }
}

function unavailable(reason: string): WritError {
  return new WritError("STORE_UNAVAILABLE", reason);
}

function toError({ code, message, details }: ErrorText): WritError {
  return new WritError(code, message, details);
}
