import { type MessagePort, workerData } from "node:worker_threads";
import pg from "pg";
import type { Answer } from "./query-sync.ts";

type Question = { url: string; text: string; values: unknown[] };

const { port, isAnswered } = workerData as { port: MessagePort; isAnswered: Int32Array };
const clients = new Map<string, pg.Client>();

pg.types.setTypeParser(20, Number);

port.on("message", async (question: Question) => {
  const answer = await ask(question).catch((error: Error): Answer => ({ error: error.message }));
  port.postMessage(answer);
  Atomics.store(isAnswered, 0, 1);
  Atomics.notify(isAnswered, 0);
});

async function ask({ url, text, values }: Question): Promise<Answer> {
  const client = clients.get(url) ?? (await connect(url));
  const { rows, rowCount } = await client.query(text, values);
  return { rows, count: rowCount ?? 0 };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: "-c search_path=writ" });
  // A database that is dropped takes its connections with it.
  client.on("error", () => clients.delete(url));
  await client.connect();
  clients.set(url, client);
  return client;
}
