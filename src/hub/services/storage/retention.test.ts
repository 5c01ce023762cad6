import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resultOf } from "../../../../test/store-contract/scene.ts";
import { sqliteUnderTest } from "../../../../test/store-contract/sqlite-under-test.ts";
import { useScene } from "../../../../test/store-contract/use-scene.ts";
import { FolderOutputs } from "../../../output/folder/folder-outputs.ts";
import { handClock } from "../../../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../../../runtime/log/logger.ts";
import { failuresIn } from "../../failure-log.testing.ts";
import { createRetention } from "./retention.ts";

const scene = useScene(() => sqliteUnderTest());
const dayMs = 86_400_000;
const roundMs = 600_000;

async function endedJobs(count: number): Promise<string[]> {
  await scene().submitAll(Array.from({ length: count }, () => scene().newJob()));
  const ids: string[] = [];
  for (;;) {
    const { claimed } = await scene().claimUpTo(200);
    if (claimed.length === 0) return ids;
    for (const one of claimed) await scene().change(one, resultOf("1"));
    ids.push(...claimed.map(({ job }) => job.id));
  }
}

/** Retention 40 days later, with outputs of which some cannot be removed. */
async function startRetention(isBroken: (jobId: string) => boolean) {
  const folder = mkdtempSync(join(tmpdir(), "writ-retention-"));
  const outputs = new FolderOutputs(join(folder, "outputs"));
  const hand = handClock();
  const clock = { ...hand, nowMs: () => scene().nowMs + 40 * dayMs };
  const tried: string[] = [];
  const logged: { text: string; job_id?: string; count?: number }[] = [];
  const remove = async (jobId: string): Promise<void> => {
    tried.push(jobId);
    if (isBroken(jobId)) throw new Error("a file cannot be removed");
    await outputs.remove(jobId);
  };
  const settings = { jobRetentionDays: 30, deadLetterDays: 7, auditHotDays: 3650, auditColdDays: 3650 };
  const logger = { ...silentLogger, error: (what: object, text: string) => logged.push({ ...what, text }) };
  const failures = failuresIn(logger as never);
  const deps = {
    store: scene().store,
    outputs: { appended: { remove } },
    settings,
    clock,
    failures,
    auditDir: folder,
  };
  const service = createRetention(deps as never);
  await service.start();
  onTestFinished(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { tried, logged, round: () => hand.pass(roundMs) };
}

test("O-43 an output that cannot be removed does not block the others, and is tried again", async () => {
  const [first, broken, last] = await endedJobs(3);
  const { tried, logged, round } = await startRetention((jobId) => jobId === broken && tried.length < 5);
  await expect.poll(() => logged.length).toBe(1);
  expect(tried).toEqual([first, broken, last]);
  expect(logged[0]).toMatchObject({ job_id: broken, count: 1, text: expect.stringContaining("next round") });
  await expect
    .poll(async () => {
      await round();
      return tried.length;
    })
    .toBeGreaterThanOrEqual(5);
  await round();
  expect(tried, "until it is gone").toEqual([first, broken, last, broken, broken]);
});

test("O-43 while the storage fails, no more jobs are deleted than in one turn", async () => {
  await endedJobs(600);
  let isBroken = true;
  const { tried, logged, round } = await startRetention(() => isBroken);
  const left = async () => (await scene().store.countJobs({ tenantId: "acme" } as never)).count;
  await expect.poll(() => logged.length).toBe(1);
  await expect
    .poll(async () => {
      await round();
      return logged.length;
    })
    .toBeGreaterThanOrEqual(2);
  expect(await left()).toBe(100);
  isBroken = false;
  await expect
    .poll(async () => {
      await round();
      return new Set(tried).size;
    })
    .toBe(600);
  expect(await left()).toBe(0);
});
