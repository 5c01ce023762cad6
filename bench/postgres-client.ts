import pg from "pg";
import { quantile } from "./_figures.ts";
import { loadPostgresJs, type PostgresJs } from "./peers/modules.ts";
import { needPeers } from "./peers/needs.ts";
import { startPostgres } from "./peers/servers.ts";

/**
 * What one transaction of five statements costs with each client: the time that it takes, and the time that the client
 * computes. Usage: npm run bench -- postgres-client Why: ADR 0079.
 */
const rounds = 5;
const transactionsOf = new Map([
  [1, 1_000],
  [100, 200],
]);

type Transact = { name: string; run(seqs: number[]): Promise<void>; end(): Promise<void> };

const insertRows = "INSERT INTO job_rows SELECT seq, 'a', $2::text, seq FROM unnest($1::bigint[]) AS seq";
const insertOrder = "INSERT INTO job_order SELECT 1, seq FROM unnest($1::bigint[]) AS seq";
const count = "UPDATE job_count SET seq = seq + $1::bigint RETURNING seq";
const text = "x".repeat(200);
/** The disk is the same for all of them, so the measurement does not wait for it. */
const noWait = "SET synchronous_commit = off";

needPeers(["postgres"]);
const server = await startPostgres();
const clients: Transact[] = [];
try {
  await prepare();
  for (const open of [() => withPg(false), () => withPg(true), withPostgresJs]) clients.push(await open());
  let last = 0;
  for (const [size, transactions] of transactionsOf) {
    const figures = clients.map(() => ({ ms: [] as number[], cpuMs: [] as number[] }));
    for (let round = 0; round < rounds; round++) {
      for (const [index, client] of clients.entries()) {
        const startedAt = performance.now();
        const cpu = process.cpuUsage();
        for (let n = 0; n < transactions; n++) await client.run(Array.from({ length: size }, () => ++last));
        const { user, system } = process.cpuUsage(cpu);
        figures[index]!.ms.push((performance.now() - startedAt) / transactions);
        figures[index]!.cpuMs.push((user + system) / 1_000 / transactions);
      }
    }
    for (const [index, { name }] of clients.entries()) {
      const { ms, cpuMs } = figures[index]!;
      const row = `${quantile(ms, 0.5).toFixed(2)} ms, ${quantile(cpuMs, 0.5).toFixed(2)} ms of CPU`;
      console.log(`${name}, ${size} rows a transaction: ${row}`);
    }
  }
} finally {
  for (const client of clients) await client.end();
  await server.stop();
}

function address() {
  return { host: "127.0.0.1", port: server.port, user: "bench", database: "postgres" };
}

async function prepare(): Promise<void> {
  const client = new pg.Client(address());
  await client.connect();
  await client.query(
    `CREATE TABLE job_rows (seq bigint PRIMARY KEY, a text, b text, c bigint);
      CREATE TABLE job_order (queue int, seq bigint, PRIMARY KEY (queue, seq));
      CREATE TABLE job_count (seq bigint); INSERT INTO job_count VALUES (0)`,
  );
  await client.end();
}

async function withPg(pipeline: boolean): Promise<Transact> {
  const client = new pg.Client({ ...address(), pipeline } as pg.ClientConfig);
  await client.connect();
  await client.query(noWait);
  const statements = (seqs: number[]) => [
    () => client.query("BEGIN"),
    () => client.query({ name: "rows", text: insertRows, values: [seqs, text] }),
    () => client.query({ name: "line", text: insertOrder, values: [seqs] }),
    () => client.query({ name: "last", text: count, values: [seqs.length] }),
    () => client.query("COMMIT"),
  ];
  return {
    name: pipeline ? "pg with pipeline" : "pg without pipeline",
    async run(seqs) {
      if (pipeline) await Promise.all(statements(seqs).map((send) => send()));
      else for (const send of statements(seqs)) await send();
    },
    end: () => client.end(),
  };
}

async function withPostgresJs(): Promise<Transact> {
  const postgres: PostgresJs = await loadPostgresJs();
  const sql = postgres({ ...address(), max: 1 });
  const own = await sql.reserve();
  await own.unsafe(noWait);
  const prepare = { prepare: true };
  return {
    name: "postgres.js",
    async run(seqs) {
      await Promise.all([
        own.unsafe("BEGIN"),
        own.unsafe(insertRows, [seqs, text], prepare),
        own.unsafe(insertOrder, [seqs], prepare),
        own.unsafe(count, [seqs.length], prepare),
        own.unsafe("COMMIT"),
      ]);
    },
    async end() {
      own.release();
      await sql.end();
    },
  };
}
