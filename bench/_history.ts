import { Writ } from "../src/client/index.ts";
import type { BenchHub } from "./_hub.ts";

const batchJobs = 1_000;
/** As many as one call may cancel. */
const cancelJobs = 10_000;
const types = 50;

/** Gives a hub so many finished jobs, by its own API: all are submitted and then cancelled, which needs no worker. */
export async function fillHistory(hub: BenchHub, jobs: number, tell: (line: string) => void): Promise<void> {
  const writ = new Writ({ url: hub.url, token: hub.token });
  try {
    for (let filled = 0; filled < jobs; ) {
      const upTo = Math.min(jobs, filled + cancelJobs);
      for (; filled < upTo; filled += batchJobs)
        await writ.submitBatch(batchOf(Math.min(batchJobs, upTo - filled)));
      const { left } = await writ.changeJobs("cancel", { filter: { status: "pending" } });
      if (left.length > 0) throw new Error(`${left.length} jobs were not cancelled`);
      if (filled % 100_000 === 0) tell(`${filled} of ${jobs} jobs`);
    }
  } finally {
    writ.close();
  }
}

function batchOf(count: number) {
  const params = { text: "x".repeat(200) };
  return Array.from({ length: count }, (_, index) => ({ type: `old-${index % types}`, params }));
}
