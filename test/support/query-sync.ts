import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";

export type Row = Record<string, unknown>;
export type Answer = { rows: Row[]; count: number } | { error: string };

/** Longer than the thread waits for PostgreSQL before it reports what stands in the way. */
const answersWithinMs = 200_000;

let thread: { port: MessagePort; answered: Int32Array } | null = null;
let asked = 0;

/**
 * Asks PostgreSQL and waits for the answer, as with a file of SQLite: what a test compares was then read before anything
 * else in its process could go on. A thread does it, whose connections stay open.
 */
export function querySync(url: string, text: string, values: unknown[] = []): { rows: Row[]; count: number } {
  thread ??= startThread();
  const { port, answered } = thread;
  asked += 1;
  port.postMessage({ id: asked, url, text, values });
  const answer = waitForAnswer(port, answered, asked);
  if (answer === null) throw new Error(`PostgreSQL did not answer: ${text}`);
  if ("error" in answer) throw new Error(`${answer.error}: ${text}`);
  return answer;
}

/**
 * An earlier question that was given up may be answered late: that answer is dropped, and never taken for this one's.
 */
function waitForAnswer(port: MessagePort, answered: Int32Array, id: number): Answer | null {
  const giveUpAt = performance.now() + answersWithinMs;
  for (;;) {
    const seen = Atomics.load(answered, 0);
    const message = receiveMessageOnPort(port)?.message as { id: number; answer: Answer } | undefined;
    if (message?.id === id) return message.answer;
    if (message !== undefined) continue;
    const leftMs = giveUpAt - performance.now();
    if (leftMs <= 0) return null;
    Atomics.wait(answered, 0, seen, leftMs);
  }
}

function startThread(): { port: MessagePort; answered: Int32Array } {
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const program = new URL("./query-sync-thread.ts", import.meta.url);
  new Worker(program, { workerData: { port: port2, answered }, transferList: [port2] }).unref();
  port1.unref();
  return { port: port1, answered };
}
