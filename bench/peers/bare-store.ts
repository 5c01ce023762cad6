import { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";

type Job = { id: string; body: string };

const database = new DatabaseSync(process.argv[2]!);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
database.exec(
  "CREATE TABLE job (id TEXT PRIMARY KEY, body TEXT NOT NULL, status TEXT NOT NULL) WITHOUT ROWID",
);
const insert = database.prepare("INSERT INTO job (id, body, status) VALUES (?, ?, 'pending')");
const port = parentPort as MessagePort;

port.on("message", (first: Job[]) => {
  const jobs = [...first];
  // Whatever arrived during the last sync goes into the next transaction.
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    jobs.push(...(next.message as Job[]));
  database.exec("BEGIN IMMEDIATE");
  for (const { id, body } of jobs) insert.run(id, body);
  database.exec("COMMIT");
  port.postMessage(jobs.map(({ id }) => id));
});
