import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import type { ClaimedJob } from "../../src/store/store.ts";
import { fenceOf, macKey, origin, resultOf, Scene } from "../../test/store-contract/scene.ts";
import type { StoreUnderTest } from "../../test/store-contract/under-test.ts";
import { treeCpuUs } from "../_cpu.ts";
import { figure } from "../_figures.ts";
import { needPrograms } from "../peers/needs.ts";
import { createDatabase, startPostgres } from "../peers/servers.ts";

export type Bench = Awaited<ReturnType<typeof openStoreBench>>;

const document = JSON.stringify({ text: "x".repeat(400) });

/** A store on a server of its own, with the defaults of PostgreSQL, and a connection to look at the server with. */
export async function openStoreBench() {
  needPrograms(["postgres"]);
  const server = await startPostgres();
  const url = await createDatabase(server);
  const store = await openPostgresStore({ url, macKey });
  const scene = new Scene({ open: async () => store } as StoreUnderTest, store);
  await scene.register();
  const watcher = new pg.Client(url);
  await watcher.connect();
  const ask = async (text: string): Promise<number> => Number((await watcher.query(text)).rows[0].n);
  const walBytes = () => ask("SELECT pg_current_wal_insert_lsn() - '0/0' AS n");
  const counters = async () => ({
    own: treeCpuUs(process.pid) - treeCpuUs(server.pid),
    database: treeCpuUs(server.pid),
    wal: await walBytes(),
    atMs: performance.now(),
  });

  return {
    scene,
    url,
    submitMany: async (count: number, facts = {}) => {
      const jobs = Array.from({ length: count }, () => scene.newJob({ document, facts }));
      const outcome = await scene.submitAll(jobs);
      if (outcome.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
    },
    finish: async (claimed: ClaimedJob[]) => {
      const changes = claimed.map((each) => ({
        jobId: each.job.id,
        change: { ...resultOf("null"), fence: fenceOf(each) },
      }));
      await scene.store.changeJobs({ changes, rules: scene.rules, origin });
    },
    /** `work` answers how many jobs it was. */
    measure: async (name: string, work: () => Promise<number>) => {
      const before = await counters();
      const jobs = await work();
      const after = await counters();
      figure(name, jobs / ((after.atMs - before.atMs) / 1_000), "jobs/s", {
        own_cpu_us: Math.round((after.own - before.own) / jobs),
        database_cpu_us: Math.round((after.database - before.database) / jobs),
        wal_bytes: Math.round((after.wal - before.wal) / jobs),
      });
    },
    /** Of everything that was kept so far. */
    tellSize: async () => {
      const bytes = await ask("SELECT pg_database_size(current_database()) AS n");
      const jobs = await ask("SELECT count(*) AS n FROM writ.jobs");
      figure("disk for an ended job, with its events and indexes", bytes / jobs, "bytes", { jobs });
    },
    close: async () => {
      await watcher.end();
      await store.close();
      await server.stop();
    },
  };
}
