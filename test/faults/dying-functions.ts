import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Writ } from "../../src/client/index.ts";
import { Worker } from "../../src/worker/index.ts";

/** A worker of functions in a process of its own. A job with `dies_holding` kills it once it also holds that other job. */
const { url, token, type, home, marks } = JSON.parse(process.argv[2]!) as Record<string, string>;

const worker = new Worker({
  url: url!,
  token: token!,
  workerId: `dying-${type}`,
  dataDir: home!,
  concurrency: 1,
});
const writ = new Writ({ url: url!, token: token! });
await worker
  .handle(type!, async ({ id, attempt, params }) => {
    const { is_quick, dies_holding } = params as { is_quick?: boolean; dies_holding?: string };
    if (is_quick) return;
    appendFileSync(marks!, `${id} ${attempt}\n`);
    if (dies_holding === undefined) return;
    while (!(await isClaimed(dies_holding))) await pause(5);
    process.kill(process.pid, "SIGKILL");
  })
  .start();

/** It may not even be submitted yet. */
async function isClaimed(id: string): Promise<boolean> {
  const found = await writ.get(id).catch(() => null);
  return found?.status === "assigned";
}
