import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";

/** A hub that is slow to come back must not cost a lease: this is about restarts, not about how long they take. */
const hub = new HubProcess({
  WRIT_LEASE_MS: "60000",
  WRIT_REAPER_INTERVAL_MS: "200",
  WRIT_LOG_LEVEL: "warn",
});
const worker = new WorkerProcess(hub, "restart-worker", { WORKER_SLOTS: "4" });
let writ: Writ;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  await worker.enrol();
  worker.start();
});
afterAll(async () => {
  writ.close();
  await worker.remove();
  await hub.remove();
});

/** Prints the numbers from 1 on, one each 50 ms, until the file is there that says enough. */
const counting =
  "i=0; while [ ! -e stop ] && [ $i -lt 200 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo last $i";

describe("a hub that restarts while jobs run", () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`costs them no attempt and leaves no gap in their output (${signal}, three times)`, async () => {
      const jobs = await Promise.all(
        [1, 2, 3].map(() =>
          writ.submit({ type: "count", run: { kind: "exec", argv: ["sh", "-c", counting] } }),
        ),
      );
      const running = await eventually("all of them run", async () => {
        const states = await Promise.all(jobs.map(({ id }) => writ.get(id)));
        return states.every(({ status, output }) => status === "running" && output.stdout > 0) && states;
      });
      for (let round = 0; round < 3; round++) {
        const before = (await writ.get(jobs[0]!.id)).output.stdout;
        await hub.kill(signal);
        await hub.start();
        await eventually("output flows again", async () => {
          const { output, status } = await writ.get(jobs[0]!.id);
          return output.stdout > before || status === "completed";
        });
      }
      // A claim whose worker had just lost its connection to the hub before is given back, and then a job runs as attempt 2.
      for (const { id, attempt } of running) {
        const job = await writ.wait(id, { timeoutMs: 120_000 });
        expect(job).toMatchObject({ status: "completed", attempt, attempts: 1, fail_history: [] });
        const lines = Array.from({ length: 200 }, (_, n) => `line ${n + 1}\n`).join("");
        expect(await everything(writ.streamOutput(id, { follow: false }))).toBe(`${lines}last 200\n`);
      }
    });
  }

  it("keeps a reader of output going: every byte once, across the restart", async () => {
    const { id } = await writ.submit({ type: "count", run: { kind: "exec", argv: ["sh", "-c", counting] } });
    const read = everything(writ.streamOutput(id, { signal: AbortSignal.timeout(300_000) }));
    await eventually("it says something", async () => (await writ.get(id)).output.stdout > 0);
    await hub.kill("SIGKILL");
    await hub.start();
    const text = await read;
    expect(text.split("\n").slice(0, -1)).toHaveLength(201);
    expect(text.endsWith("last 200\n")).toBe(true);
  });
});

async function everything(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
