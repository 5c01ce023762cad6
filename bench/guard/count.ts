import { subscribe } from "node:diagnostics_channel";
import fs from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { getHeapStatistics } from "node:v8";
import { BroadcastChannel, isMainThread, MessagePort, threadId, type Worker } from "node:worker_threads";

/**
 * Loaded into every thread of the hub before its own code (`--import`), so that the hub needs no switch for it: counts
 * what it does, and sends the counts of all threads to each client that connects to the socket in `WRIT_BENCH_COUNTS`.
 * Why: ADR 0058.
 */
export type Counts = {
  statements: Record<string, number>;
  fileSyncs: number;
  messages: number;
  bytes: number;
  allocatedBytes: number;
};

type Function = (this: unknown, ...args: unknown[]) => unknown;
type Answer = { threadId: number; counts: Counts | null };

const counts: Counts = { statements: {}, fileSyncs: 0, messages: 0, bytes: 0, allocatedBytes: 0 };
const sockets = new Set<Socket>();
/** Whether the message that is being posted is one of ours about the counts. */
let isTelling = false;
const folder = process.env["WRIT_BENCH_COUNTS"];

countStatements();
await countFileSyncs();
before(MessagePort.prototype, ["postMessage"], () => {
  if (!isTelling) counts.messages += 1;
});
countBytes();
if (folder !== undefined) serve(join(folder, `${process.pid}.sock`));

/** Of this thread. */
export function snapshot(): Counts {
  let bytes = counts.bytes;
  for (const socket of sockets) bytes += socket.bytesRead + socket.bytesWritten;
  return { ...counts, bytes, allocatedBytes: Number(getHeapStatistics().total_allocated_bytes ?? 0) };
}

function countStatements(): void {
  const count = (text: string) => {
    counts.statements[text] = (counts.statements[text] ?? 0) + 1;
  };
  before(StatementSync.prototype, ["run", "get", "all", "iterate"], (statement) =>
    count((statement as StatementSync).sourceSQL),
  );
  before(DatabaseSync.prototype, ["exec"], (_, text) => count(String(text)));
}

/** SQLite syncs by itself, once for each COMMIT; these are the syncs of all other files. */
async function countFileSyncs(): Promise<void> {
  const count = () => {
    counts.fileSyncs += 1;
  };
  before(fs, ["fsync", "fdatasync", "fsyncSync", "fdatasyncSync"], count);
  const handle = await open("/dev/null");
  before(Object.getPrototypeOf(handle), ["sync", "datasync"], count);
  await handle.close();
  syncBuiltinESMExports();
}

/** On connections that this process accepted, both ways. */
function countBytes(): void {
  subscribe("net.server.socket", (message) => {
    const { socket } = message as { socket: Socket };
    // Without a port it is the socket below, which is no part of the hub.
    if (socket.localPort === undefined) return;
    sockets.add(socket);
    socket.once("close", () => {
      counts.bytes += socket.bytesRead + socket.bytesWritten;
      sockets.delete(socket);
    });
  });
}

function before(
  target: object,
  names: readonly string[],
  count: (self: unknown, ...args: unknown[]) => void,
): void {
  const methods = target as Record<string, Function>;
  for (const name of names) {
    const original = methods[name]!;
    methods[name] = function (...args) {
      count(this, ...args);
      return original.apply(this, args);
    };
  }
}

function serve(path: string): void {
  const channel = new BroadcastChannel("writ-bench-counts");
  channel.unref();
  if (isMainThread) serveCounts(path, channel);
  else answerMainThread(channel);
}

function tell(channel: BroadcastChannel, message: unknown): void {
  isTelling = true;
  channel.postMessage(message);
  isTelling = false;
}

function answerMainThread(channel: BroadcastChannel): void {
  channel.onmessage = (event) => {
    if ((event as { data: unknown }).data !== "ask") return;
    tell(channel, { threadId, counts: snapshot() } satisfies Answer);
  };
  tell(channel, { threadId, counts: null } satisfies Answer);
}

/** A thread says that it is there when it starts; one that was started without this file never does. */
function serveCounts(path: string, channel: BroadcastChannel): void {
  const threads = new Map<number, (counts: Counts) => void>();
  process.on("worker", (worker: Worker) => {
    const id = worker.threadId;
    worker.once("exit", () => threads.delete(id));
  });
  channel.onmessage = (event) => {
    const { threadId, counts } = (event as { data: Answer }).data;
    if (counts === null) threads.set(threadId, () => {});
    else threads.get(threadId)?.(counts);
  };
  const ask = async (): Promise<Counts[]> => {
    const answers = [...threads.keys()].map(
      (id) => new Promise<Counts>((resolve) => threads.set(id, resolve)),
    );
    tell(channel, "ask");
    return Promise.all(answers);
  };
  const server = createServer(async (socket) => {
    socket.end(JSON.stringify([snapshot(), ...(await ask())]));
  });
  server.listen(path).unref();
}
