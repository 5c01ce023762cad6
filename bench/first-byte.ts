import { Writ } from "../src/client/index.ts";
import { figure, median, quantile } from "./_figures.ts";
import { startBenchHub } from "./_hub.ts";

/**
 * How long after a process has written its first byte a follower of its output has it, for jobs that continue: from the
 * clock that the process prints to its arrival in this process. One job at a time, hub and worker as users run them.
 * Why: ADR 0065, ADR 0074.
 * Usage: npm run bench -- first-byte [jobs]
 */
const jobs = Number(process.argv[2] ?? 60);
const warmUpJobs = 20;
const idleMs = 15;
const argv = ["/bin/sh", "-c", "/bin/date +%s%N; exec /bin/sleep 0.3"];

const hub = await startBenchHub({}, undefined, "up");
const writ = new Writ({ url: hub.url, token: hub.token });
try {
  const lagsMs: number[] = [];
  for (let index = 0; index < warmUpJobs + jobs; index++) {
    const lagMs = await firstByteLagMs();
    if (index >= warmUpJobs) lagsMs.push(lagMs);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
  }
  figure("first byte of a job that continues, p50", median(lagsMs), "ms", {
    jobs,
    p99: quantile(lagsMs, 0.99),
  });
} finally {
  writ.close();
  await hub.stop();
}

async function firstByteLagMs(): Promise<number> {
  const { id } = await writ.submit({ type: "exec", run: { kind: "exec", argv } });
  let lagMs: number | undefined;
  for await (const chunk of writ.streamOutput(id)) {
    const nowMs = performance.timeOrigin + performance.now();
    lagMs ??= nowMs - Number(Buffer.from(chunk).toString().trim()) / 1e6;
  }
  if (lagMs === undefined) throw new Error(`job ${id} has written nothing`);
  return lagMs;
}
