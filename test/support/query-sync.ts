import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";

export type Row = Record<string, unknown>;
export type Answer = { rows: Row[]; count: number } | { error: string };

const answersWithinMs = 30_000;

let thread: { port: MessagePort; isAnswered: Int32Array } | null = null;

/**
 * Asks PostgreSQL and waits for the answer, as with a file of SQLite: what a test compares was then read before anything
 * else in its process could go on. A thread does it, whose connections stay open.
 */
export function querySync(url: string, text: string, values: unknown[] = []): { rows: Row[]; count: number } {
  thread ??= startThread();
  const { port, isAnswered } = thread;
  Atomics.store(isAnswered, 0, 0);
  port.postMessage({ url, text, values });
  if (Atomics.wait(isAnswered, 0, 0, answersWithinMs) === "timed-out")
    throw new Error(`PostgreSQL did not answer: ${text}`);
  const answer = receiveMessageOnPort(port)!.message as Answer;
  if ("error" in answer) throw new Error(`${answer.error}: ${text}`);
  return answer;
}

function startThread(): { port: MessagePort; isAnswered: Int32Array } {
  const isAnswered = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const program = new URL("./query-sync-thread.ts", import.meta.url);
  new Worker(program, { workerData: { port: port2, isAnswered }, transferList: [port2] }).unref();
  port1.unref();
  return { port: port1, isAnswered };
}
