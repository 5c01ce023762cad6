import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Worker } from "node:worker_threads";

/**
 * What an HTTP server with a durable queue costs at least: node:http, one thread with SQLite, one transaction for all
 * requests that wait, the answer after the sync. No check of the caller or the job, no document, event, or history.
 */
const store = new Worker(new URL("bare-store.ts", import.meta.url), { argv: [process.argv[2]!] });
const waiting = new Map<string, (status: number) => void>();
let batch: { id: string; body: string }[] = [];

store.on("message", (ids: string[]) => {
  for (const id of ids) {
    waiting.get(id)!(201);
    waiting.delete(id);
  }
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const id = randomUUID();
    waiting.set(id, (status) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(`{"id":"${id}","status":"pending"}`);
    });
    batch.push({ id, body: Buffer.concat(chunks).toString() });
    if (batch.length === 1) setImmediate(send);
  });
});

function send(): void {
  store.postMessage(batch);
  batch = [];
}

server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as { port: number }).port }));
process.on("disconnect", () => process.exit(0));
