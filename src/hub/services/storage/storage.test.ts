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
import { OutputTally } from "./output-tally.ts";
import { createStorage } from "./storage.ts";

const scene = useScene(() => sqliteUnderTest());
const tenMinutesMs = 600_000;

/** Ended jobs that have written 1,000 bytes each. */
async function endedJobs(count: number, tally: OutputTally): Promise<string[]> {
  await scene().submitAll(Array.from({ length: count }, () => scene().newJob()));
  const { claimed } = await scene().claimUpTo(count);
  for (const one of claimed) await scene().change(one, resultOf("1"));
  const ids = claimed.map(({ job }) => job.id);
  for (const jobId of ids) tally.set({ jobId, attempt: 1, stream: "stdout" }, 1_000);
  return ids;
}

/** The service with a ceiling that keeps nothing, and outputs of which some cannot be removed. */
async function startStorage(outputTally: OutputTally, isBroken: (jobId: string) => boolean) {
  const folder = mkdtempSync(join(tmpdir(), "writ-storage-"));
  const outputs = new FolderOutputs(folder);
  const hand = handClock();
  const tried: string[] = [];
  const logged: object[] = [];
  outputs.removeAttempts = async (jobId) => {
    tried.push(jobId);
    if (isBroken(jobId)) throw new Error("a file cannot be removed");
  };
  const logger = { ...silentLogger, error: (what: object, text: string) => logged.push({ ...what, text }) };
  const clock = { ...hand, nowMs: () => scene().nowMs };
  const settings = { maxStorageBytes: 0 };
  const { store } = scene();
  const leadership = { isLeader: true };
  const service = createStorage({
    store,
    outputs: { appended: outputs },
    outputTally,
    settings,
    clock,
    logger,
    failures: failuresIn(logger as never),
    leadership,
  } as never);
  await service.start();
  onTestFinished(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { tried, logged, pass: hand.pass };
}

test("O-43 an output that cannot be removed to make room does not block the others, and is tried again", async () => {
  const tally = new OutputTally(scene().store);
  const jobs = await endedJobs(3, tally);
  const [broken] = jobs;
  let isBroken = true;
  const { tried, logged, pass } = await startStorage(tally, (jobId) => isBroken && jobId === broken);
  await expect.poll(() => new Set(tried).size).toBe(3);
  await expect.poll(() => logged).toMatchObject([{ job_id: broken, count: 1 }]);
  isBroken = false;
  const before = tried.length;
  await expect
    .poll(async () => {
      await pass(tenMinutesMs);
      return tried.slice(before);
    })
    .toEqual([broken]);
  expect(logged).toHaveLength(1);
});

test("O-43 while the storage fails, the store drops the outputs of one turn at most", async () => {
  const tally = new OutputTally(scene().store);
  await endedJobs(250, tally);
  const { logged } = await startStorage(tally, () => true);
  await expect.poll(() => logged.length).toBe(1);
  await expect.poll(() => tally.keptBytes).toBe(150_000);
});
