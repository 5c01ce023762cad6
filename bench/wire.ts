import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "../src/client/index.ts";
import { Worker } from "../src/worker/index.ts";
import { cpuByThread } from "./_cpu.ts";
import { median } from "./_figures.ts";
import { startBenchHub } from "./_hub.ts";
import { paramsOf } from "./peers/rival.ts";

/**
 * What a job costs on its way between client, hub and worker, in frames on one upgraded connection and over HTTP: CPU time
 * of the client's and the hub's threads, and system calls are left out, because the machine's load changes them. Both take
 * turns against one hub. Usage: npm run bench -- wire [jobs] Why: ADR 0126.
 */
const jobs = Number(process.argv[2] ?? 8_000);
const rounds = 5;
const producers = 16;
const concurrency = 50;
const ways = ["frames", "http"] as const;
type Way = (typeof ways)[number];
type Figures = Record<string, number[]>;

const dir = mkdtempSync(join(tmpdir(), "writ-bench-wire-"));
const hub = await startBenchHub();
try {
  const found: Record<string, Record<Way, Figures>> = {};
  for (const act of ["enqueue", "drain"] as const) {
    found[act] = { frames: {}, http: {} };
    // The first round is for the compiler.
    for (let round = 0; round <= rounds; round++) {
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        const us = await (act === "enqueue" ? enqueue(way) : drain(way));
        if (round === 0) continue;
        const figures = found[act][way];
        for (const [thread, each] of Object.entries(us)) figures[thread] = [...(figures[thread] ?? []), each];
      }
    }
  }
  for (const [act, byWay] of Object.entries(found)) {
    for (const way of ways) {
      const shown = Object.entries(byWay[way])
        .map(([thread, us]) => [thread, median(us)] as const)
        .filter(([, us]) => us >= 1)
        .map(([thread, us]) => `${thread} ${us.toFixed(0)}`);
      console.log(`${act}, ${way}: CPU µs a job: ${shown.join(", ")}`);
    }
  }
} finally {
  await hub.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);

async function enqueue(way: Way): Promise<Record<string, number>> {
  const writ = open(way);
  await produce(writ, producers * 8);
  const us = await measured(() => produce(writ, jobs));
  writ.close();
  return us;
}

async function produce(writ: Writ, count: number): Promise<void> {
  let sent = 0;
  const producer = async (): Promise<void> => {
    while (sent < count) await writ.submit({ type: "kept", params: paramsOf(sent++) });
  };
  await Promise.all(Array.from({ length: producers }, producer));
}

async function drain(way: Way): Promise<Record<string, number>> {
  const writ = open(way);
  const params = Array.from({ length: 1_000 }, (_, index) => ({ type: "drained", params: paramsOf(index) }));
  for (let sent = 0; sent < jobs; sent += params.length) await writ.submitBatch(params);
  writ.close();
  const worker = new Worker({
    url: hub.url,
    token: hub.token,
    workerId: "wire",
    concurrency,
    dataDir: dir,
    frames: way === "frames",
  });
  const all = Promise.withResolvers<void>();
  let done = 0;
  worker.handle("drained", async () => {
    if (++done === jobs) all.resolve();
    return null;
  });
  return measured(async () => {
    await worker.start();
    await all.promise;
    await worker.stop();
  });
}

function open(way: Way): Writ {
  return new Writ({ url: hub.url, token: hub.token, frames: way === "frames" });
}

async function measured(work: () => Promise<void>): Promise<Record<string, number>> {
  const before = { own: cpuByThread(process.pid), hub: cpuByThread(hub.pid) };
  const startedAt = performance.now();
  await work();
  const perSecond = jobs / ((performance.now() - startedAt) / 1000);
  const after = { own: cpuByThread(process.pid), hub: cpuByThread(hub.pid) };
  return {
    ...spent("own", before.own, after.own),
    ...spent("hub", before.hub, after.hub),
    "(jobs/s)": perSecond,
  };
}

function spent(
  who: string,
  before: Record<string, number>,
  after: Record<string, number>,
): Record<string, number> {
  const each = Object.entries(after).map(
    ([thread, us]) => [`${who} ${thread}`, (us - (before[thread] ?? 0)) / jobs] as const,
  );
  const sum = each.reduce((total, [, us]) => total + us, 0);
  return Object.fromEntries([[`${who} in all`, sum], ...each]);
}
