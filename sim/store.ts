import { DatabaseSync } from "node:sqlite";
import { type ActName, isRead } from "../src/store/act-names.ts";
import type { Context } from "../src/store/sqlite/context.ts";
import type { Database } from "../src/store/sqlite/database/database.ts";
import { idBytes } from "../src/store/sqlite/jobs/job-entry.ts";
import { readActs } from "../src/store/sqlite/reads/read-acts.ts";
import { flushedReads } from "../src/store/sqlite/thread/flushed-reads.ts";
import { commitGroup } from "../src/store/sqlite/thread/group-commit.ts";
import { Reader } from "../src/store/sqlite/thread/reader.ts";
import { StoreProxy } from "../src/store/sqlite/thread/store-proxy.ts";
import type { Batch, ReadAnswer, Request, ToThread } from "../src/store/sqlite/thread/wire.ts";
import type { Store } from "../src/store/store.ts";
import { type Disk, openDatabase } from "./disk.ts";
import type { Life, World } from "./world.ts";

export type SimStore = {
  store: Store;
  /** From now on calls take time, and a crash can come before a commit or between a commit and its answers. */
  begin(): void;
  /** How many transactions were committed. */
  readonly commits: number;
  /** Asks the database at once, beside everything that waits. */
  ask<T>(act: ActName, input: unknown): T;
  /** Changes a row behind the store's back. */
  edit(statement: string, ...values: string[]): void;
  /** The process is gone, and with it what was not committed. */
  crash(): void;
};

/** When rows that memory keeps back are written. */
const restMs = 250;

/** How long a group waits for the database, and then for the sync and its way back. */
const groupMs = { from: 0, to: 2 };
const answerMs = { from: 0, to: 3 };

/** The hub's real store. Only the two threads behind it are replaced, by events of the world. */
export function openSimStore(world: World, life: Life, disk: Disk): SimStore {
  const database = openDatabase(disk);
  const readerSettings = {
    path: disk.database,
    macKey: disk.macKey,
    busyTimeoutMs: 0,
    failpointModule: null,
  };
  const opened = { file: database.file };
  const reader = new Reader(readActs, { ...readerSettings, ...opened }, () => {});
  let isTimed = false;
  let commits = 0;
  let isResting = false;
  const thread = (answer: (requests: Request[]) => Parameters<StoreProxy["receive"]>[0][]) => {
    let waiting: Request[] = [];
    const later = (ms: { from: number; to: number }, run: () => void): void => {
      if (isTimed) world.after(world.random.between(ms.from, ms.to), life, run);
      else if (!life.isOver) run();
    };
    const work = (): void => {
      const messages = answer(waiting.splice(0)).map((message) => structuredClone(message));
      later(answerMs, () => {
        for (const message of messages) proxy.receive(message);
      });
    };
    const post = (message: ToThread): void => {
      if (message.kind === "close") return;
      const isFirst = waiting.length === 0;
      waiting = [...waiting, ...structuredClone(message.requests)];
      if (isFirst) later(groupMs, work);
    };
    const proxy = new StoreProxy((message) => queueMicrotask(() => post(message)));
    proxy.receive({ kind: "opened", ...opened });
    return proxy;
  };
  const flush = (): void => {
    isResting = false;
    void commitGroup(database, [{ id: 0, act: "flushIndex", input: null }]);
  };
  const writes = thread((requests) => {
    commits++;
    const batches = allGroups(database, requests);
    if (database.isUnsettled() && !isResting) {
      isResting = true;
      world.after(restMs, life, flush);
    }
    return batches;
  });
  const reads = thread((requests) =>
    requests.map((request) => ({ kind: "read" as const, answer: reader.answer(request) })),
  );
  return {
    store: writes.store(flushedReads(writes, reads)),
    begin: () => {
      isTimed = true;
    },
    get commits() {
      return commits;
    },
    ask: (act, input) => {
      const request = { id: 1, act, input };
      return readValue(
        isRead(act) ? reader.answer(request) : commitGroup(database, [request]).batch.answers[0]!,
      );
    },
    edit: (statement, ...values) => {
      // What is to be edited must be in the file, and in frames an id is its bytes.
      flush();
      const file = new DatabaseSync(disk.database);
      file.prepare(statement).run(...values.map((value) => idBytes(value) ?? value));
      file.close();
    },
    crash: () => {
      database.close();
      reader.close();
    },
  };
}

function allGroups(database: Database<Context>, requests: Request[]): ({ kind: "batch" } & Batch)[] {
  const batches: ({ kind: "batch" } & Batch)[] = [];
  for (let next = 0; next < requests.length; ) {
    const { batch, taken } = commitGroup(database, requests.slice(next));
    batches.push({ kind: "batch", ...batch });
    next += taken;
  }
  return batches;
}

function readValue<T>(answer: ReadAnswer): T {
  if ("error" in answer) throw new Error(`the database cannot be inspected: ${answer.error.message}`);
  return ("json" in answer ? JSON.parse(answer.json) : answer.value) as T;
}
