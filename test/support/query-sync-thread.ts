import { type MessagePort, workerData } from "node:worker_threads";
import pg from "pg";
import type { Answer } from "./query-sync.ts";

type Question = { id: number; url: string; text: string; values: unknown[] };

/** No query of a test takes as long on a busy machine: what does waits for something. */
const queryMs = 120_000;

const { port, answered } = workerData as { port: MessagePort; answered: Int32Array };
const clients = new Map<string, pg.Client>();

pg.types.setTypeParser(20, Number);

port.on("message", async (question: Question) => {
  const answer = await answerInTime(question);
  port.postMessage({ id: question.id, answer });
  Atomics.add(answered, 0, 1);
  Atomics.notify(answered, 0);
});

async function answerInTime(question: Question): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((resolve) => {
    timer = setTimeout(() => resolve(describeServer(question.url)), queryMs);
  });
  const answer = ask(question).catch((error: Error): Answer => ({ error: error.message }));
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}

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

/**
 * Which sessions wait for what. The program that asked stands still until it is answered, so a hub inside it that holds a
 * lock would hold it for ever.
 */
async function describeServer(url: string): Promise<Answer> {
  const client = new pg.Client({
    connectionString: url,
    query_timeout: 10_000,
    connectionTimeoutMillis: 10_000,
  });
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT pid, datname, state, wait_event_type, wait_event, pg_blocking_pids(pid) AS blocked_by, left(query, 200) AS query
        FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY datname, pid`,
    );
    return { error: `no answer within ${queryMs} ms; the server's sessions: ${JSON.stringify(rows)}` };
  } catch (error) {
    return { error: `no answer within ${queryMs} ms, and the server says: ${(error as Error).message}` };
  } finally {
    client.end().catch(() => {});
  }
}
