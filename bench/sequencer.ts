import { parseArgs } from "node:util";
import pg from "pg";
import { jobEvent } from "../src/core/events.ts";
import { newJobRecord } from "../src/core/jobs/job.ts";
import { openPostgresStore } from "../src/store/postgres/open-store.ts";
import { Work } from "../src/store/postgres/transaction/work.ts";
import { macKey, origin, Scene } from "../test/store-contract/scene.ts";
import type { StoreUnderTest } from "../test/store-contract/under-test.ts";
import { figure } from "./_figures.ts";
import { needPrograms } from "./peers/needs.ts";
import { createDatabase, startPostgres } from "./peers/servers.ts";

/**
 * The one thing that all hubs of a database share: the lock of the event log, which every transaction holds from its last
 * statement until its commit is on disk. Real PostgreSQL under simulated hubs: each is one connection that does nothing but
 * the last statement and the commit, over and over, with the schema and the events of the real ones. A slower disk is
 * simulated by the server itself (`commit_delay`). Hubs that do their other work, too, ask for less than these do.
 *
 * From the time that the lock is held for small and for large groups follows what it is for any: a fixed part, a part for
 * each event, and the disk. The last lines say how many events a second one database can number with it. Why: ADR 0021.
 * Usage: npm run bench -- sequencer [--hubs 1,2,4] [--groups 16,100,1000] [--delay-ms 0,2] [--seconds 2]
 */
const { values } = parseArgs({
  options: {
    hubs: { type: "string", default: "1,2,4" },
    groups: { type: "string", default: "16,100,1000" },
    "delay-ms": { type: "string", default: "0,2" },
    seconds: { type: "string", default: "2" },
  },
});
const numbers = (text: string) => text.split(",").map(Number);
const hubs = numbers(values.hubs);
const groups = numbers(values.groups);
const delaysMs = numbers(values["delay-ms"]);
const secondsEach = Number(values.seconds);
/** A job that is submitted, claimed and done, as one without output is. */
const eventsPerJob = 3;

needPrograms(["postgres"]);
const server = await startPostgres();
try {
  const url = await createDatabase(server);
  const queueId = await prepare(url);
  const held = new Map<string, number>();
  for (const delayMs of delaysMs)
    for (const group of groups)
      for (const count of hubs) {
        const ms = await holdMs({ url, queueId, delayMs, group, count });
        figure(
          `${count} hubs, groups of ${group} events, commits ${delayMs} ms slower`,
          1_000 / ms,
          "groups/s",
          {
            events_per_sec: Math.round((1_000 / ms) * group),
            held_ms: Number(ms.toFixed(3)),
          },
        );
        // With one hub the lock is free while it waits for the answer.
        if (count === Math.max(...hubs)) held.set(`${delayMs} ${group}`, ms);
      }
  predict(held);
} finally {
  await server.stop();
}

/** A database as a hub leaves it after its first job; answers the number of that job's queue. */
async function prepare(url: string): Promise<number> {
  const store = await openPostgresStore({ url, macKey });
  const scene = new Scene({ open: async () => store } as StoreUnderTest, store);
  await scene.submit();
  await store.close();
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query("SELECT id FROM writ.queues");
  await client.end();
  return rows[0].id;
}

type Load = { url: string; queueId: number; delayMs: number; group: number; count: number };

/** How long the lock is held by one group, if there is always another one that waits for it. */
async function holdMs({ url, queueId, delayMs, group, count }: Load): Promise<number> {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(url, delayMs)));
  const { text, values } = groupOf(queueId, group);
  const query = { name: "finish", text, values };
  const once = (client: pg.Client) =>
    Promise.all([client.query("BEGIN"), client.query(query), client.query("COMMIT")]);
  await Promise.all(clients.map(once));
  let done = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + secondsEach * 1_000;
  const lane = async (client: pg.Client) => {
    for (; performance.now() < endsAt; done++) await once(client);
  };
  await Promise.all(clients.map(lane));
  const ms = (performance.now() - startedAt) / done;
  await Promise.all(clients.map((client) => client.end()));
  return ms;
}

async function connect(url: string, delayMs: number): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig);
  await client.connect();
  await client.query(
    `SET search_path = writ; SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
      SET commit_siblings = 0; SET commit_delay = ${delayMs * 1_000}`,
  );
  return client;
}

/** What a hub sends for a group of submissions. */
function groupOf(queueId: number, events: number) {
  const work = new Work();
  const scene = new Scene({} as StoreUnderTest, { onCommit: () => () => {} } as never);
  for (let n = 1; n <= events; n++) {
    const job = newJobRecord(scene.newJob(), n);
    const submitted = {
      event: "JOB_CREATED",
      details: {},
    } as const;
    work.log(jobEvent(job, submitted, { ts: scene.nowMs, jobSeq: 1, origin }));
    work.countJob(job, "pending", 1);
    work.countQueue(queueId, { jobs: 1, pending: 1, active: 0 });
  }
  return work.finish(null) as unknown as { text: string; values: unknown[] };
}

function predict(held: Map<string, number>): void {
  const [small, large] = [Math.min(...groups), Math.max(...groups)];
  const at = (group: number) => held.get(`${Math.min(...delaysMs)} ${group}`)!;
  if (small === large) return;
  const eachMs = (at(large) - at(small)) / (large - small);
  const fixedMs = Math.max(0, at(small) - small * eachMs);
  figure("the lock is held for each group, its commit included", fixedMs, "ms");
  figure("and for each event in it", eachMs * 1_000, "µs");
  for (const diskMs of [0, 1, 2, 5])
    for (const group of [16, 100, 500, 1_000]) {
      const perSecond = (1_000 * group) / (fixedMs + diskMs + group * eachMs);
      figure(`one database, groups of ${group} events, a disk ${diskMs} ms slower`, perSecond, "events/s", {
        jobs_per_sec: Math.round(perSecond / eventsPerJob),
      });
    }
}
