import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { treeCpuUs } from "./_cpu.ts";
import { figure, median } from "./_figures.ts";
import { type BenchHub, startBenchHub } from "./_hub.ts";
import { readOptions } from "./_options.ts";
import { needPrograms } from "./peers/needs.ts";
import { acts, bulkJobs, type Rival, sleep } from "./peers/rival.ts";
import { createDatabase, startPostgres } from "./peers/servers.ts";
import { openWrit } from "./peers/writ.ts";

/**
 * One, two and three hubs on one PostgreSQL database: submissions by 16 producers at each hub, and jobs drained by one worker
 * at each. Three hubs run all the time, and as many of them are used as the line says, in turns. Clients, hubs and database
 * share this machine, so its cores are the limit: the CPU time of a job says whether more hubs cost more.
 * Usage: npm run bench -- hubs [--jobs N] [--rounds N]
 */
const options = readOptions();
const jobs = options.jobs ?? 6_000;
const most = 3;
const producers = 16;
const seconds = 2;

needPrograms(["postgres"]);
const server = await startPostgres();
const keys = mkdtempSync(join(tmpdir(), "writ-bench-keys-"));
const hubs: BenchHub[] = [];
try {
  const url = await createDatabase(server);
  const env = { WRIT_DATABASE_URL: url, WRIT_KEYS_DIR: keys };
  for (let n = 0; n < most; n++) hubs.push(await startBenchHub(env));
  const rivals = await Promise.all(hubs.map(openWrit));
  await measure(rivals);
  await tellConnections(url);
  for (const rival of rivals) await rival.close();
} finally {
  for (const hub of hubs) await hub.stop();
  await server.stop();
  rmSync(keys, { recursive: true, force: true });
}

type Run = { perSecond: number; own: number; hubs: number; database: number };

async function measure(rivals: Rival[]): Promise<void> {
  const found = new Map<string, Run[]>();
  for (let round = 0; round <= options.rounds; round++)
    for (let count = 1; count <= most; count++) {
      const used = rivals.slice(0, count);
      const submitted = await timed(() => submit(used));
      for (let filled = 0; filled < jobs; filled += bulkJobs) await used[0]!.submitMany(bulkJobs);
      const runs = {
        [`submit, ${count} hubs, ${producers} producers each`]: submitted,
        [`drain, ${count} hubs, a worker each`]: await timed(() => drain(used)),
      };
      // The first round compiles the code.
      if (round > 0)
        for (const [name, run] of Object.entries(runs)) found.set(name, [...(found.get(name) ?? []), run]);
    }
  for (const [name, runs] of found) {
    const middle = (pick: (run: Run) => number) => Math.round(median(runs.map(pick)));
    figure(name, median(runs.map(({ perSecond }) => perSecond)), "jobs/s", {
      hubs_cpu_us: middle((run) => run.hubs),
      database_cpu_us: middle((run) => run.database),
      client_cpu_us: middle((run) => run.own),
    });
  }
}

async function submit(used: Rival[]): Promise<number> {
  const results = await Promise.all(
    used.map((rival) => acts.enqueue(rival, { jobs: 0, concurrency: producers, seconds })),
  );
  return results.reduce((sum, result) => sum + result.jobs, 0);
}

/** Everything that waits, with what `submit` has left. */
async function drain(used: Rival[]): Promise<number> {
  let done = 0;
  const stops = await Promise.all(used.map((rival) => rival.work(50, () => done++)));
  while (!(await used[0]!.isEmpty())) await sleep(5);
  for (const stop of stops) await stop();
  return done;
}

async function timed(work: () => Promise<number>): Promise<Run> {
  const cpu = () => ({
    own: treeCpuUs(process.pid),
    hubs: hubs.reduce((sum, { pid }) => sum + treeCpuUs(pid), 0),
    database: treeCpuUs(server.pid),
  });
  const before = cpu();
  const startedAt = performance.now();
  const done = await work();
  const took = (performance.now() - startedAt) / 1_000;
  const after = cpu();
  const usedHubs = after.hubs - before.hubs;
  const database = after.database - before.database;
  // Hubs and server are children of this process.
  const own = after.own - before.own - usedHubs - database;
  return { perSecond: done / took, own: own / done, hubs: usedHubs / done, database: database / done };
}

async function tellConnections(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(
    "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await client.end();
  figure("connections of a hub after this", Number(rows[0].n) / most, "connections");
}
