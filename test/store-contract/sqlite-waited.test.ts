import { StatementSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { Scene } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";

/** Why: ADR 0149. */
const jobs = 40;

test("a claim of jobs that have waited reads each of their frames once, and searches none", async () => {
  const scene = await Scene.open(sqliteUnderTest({}, openWithoutThread));
  await scene.register();
  // Each submission is a frame of its own.
  for (let made = 0; made < jobs; made++) await scene.submit();
  await scene.reopen();
  await scene.store.listJobs({ limit: 1 });
  const texts: string[] = [];
  const get = vi.spyOn(StatementSync.prototype, "get").mockImplementation(function (
    this: StatementSync,
    ...values
  ) {
    texts.push(this.sourceSQL);
    return Reflect.apply(original, this, values);
  });
  expect((await scene.claimUpTo(jobs)).claimed).toHaveLength(jobs);
  get.mockRestore();
  const ofFrames = texts.filter((text) => /FROM frames/.test(text));
  // One for each job, and those of the group that the claim is.
  expect(ofFrames.length).toBeLessThan(jobs + 10);
  await scene.end();
});

const original = StatementSync.prototype.get;
