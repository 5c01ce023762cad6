import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { type HandlerContext, type HandlerJob, Worker } from "../../src/worker/index.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

/** A program with one slot, whose first job of this type stays until it is told to stop. */
async function startFunctions(type: string) {
  const home = mkdtempSync(join(tmpdir(), "writ-held-"));
  const ran: string[] = [];
  const begun = Promise.withResolvers<void>();
  const work = (
    { id, attempt, params }: HandlerJob,
    { signal }: HandlerContext,
  ): Promise<void> | undefined => {
    ran.push(`${id} ${attempt}`);
    if (!(params as { stays?: boolean }).stays || attempt > 1) return;
    begun.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  };
  const worker = new Worker({
    url: hub.url,
    token: hub.admin,
    workerId: freshName("held"),
    dataDir: home,
    concurrency: 1,
  });
  await worker.handle(type, work).start();
  onTestFinished(async () => {
    await worker.stop();
    removeHome(home);
  });
  return { ran, begun: begun.promise };
}

test("a lockdown takes back what a worker had claimed ahead: nothing of it starts, and nothing is charged", async () => {
  const writ = new Writ({ url: hub.url, token: hub.admin });
  onTestFinished(() => writ.close());
  const type = freshName("ahead");
  const { ran, begun } = await startFunctions(type);
  const job = (params: object, priority = 5) => ({
    type,
    priority,
    run: { kind: "handler" as const, params },
  });
  // A worker whose jobs were over in no time claims more than it can run.
  const quick = await writ.submitBatch(Array.from({ length: 10 }, () => job({})));
  for (const { id } of quick) await writ.wait(id);
  ran.length = 0;
  const jobs = await writ.submitBatch([job({ stays: true }, 9), job({}), job({})]);
  await begun;

  await writ.lockDown("a drill");
  for (const { id } of jobs) {
    await eventually("it is given back", async () => (await writ.get(id)).status === "pending");
    expect(await writ.get(id)).toMatchObject({ attempts: 0, worker_id: null, fail_history: [] });
  }
  expect(ran).toEqual([`${jobs[0]!.id} 1`]);

  await writ.liftLockdown();
  const ends = await Promise.all(jobs.map(({ id }) => writ.wait(id)));
  expect(ends).toMatchObject(jobs.map(() => ({ status: "completed", attempts: 1 })));
  const ranAfter = ran.slice(1).map((mark) => mark.split(" ")[0]);
  expect(ranAfter.sort()).toEqual(jobs.map(({ id }) => id).sort());
});
