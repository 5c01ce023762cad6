import { expect, test } from "vitest";
import { type Clock, systemClock } from "../runtime/clock/clock.ts";
import { type TestJob, testJob, testJobId } from "./fake-hub.testing.ts";
import { endingOf, setStage, start } from "./worker-stage.testing.ts";

/** Jobs that a worker holds while its only slot is taken: they are leased, but nothing of them has begun. */
const stage = setStage();

function job(number: number): TestJob {
  return testJob(number, { kind: "handler" }, { document: { type: "work" } });
}

/** On a busy machine a job that does nothing may take a tenth of a second, and its worker would claim nothing ahead. */
const slowClock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() / 1_000 };

/** A worker that runs job 1 until it is told to end it, and holds jobs 2 and 3 meanwhile. */
async function holdTwo(): Promise<{ started: string[]; endFirst(): void }> {
  const started: string[] = [];
  const first = Promise.withResolvers<null>();
  // A worker whose jobs were over in no time claims more than it can run.
  stage.hub.queue = [job(9)];
  const work = ({ id }: { id: string }) => {
    started.push(id);
    return id === testJobId(1) ? first.promise : null;
  };
  await start(stage, { handlers: { work }, env: { WORKER_SLOTS: "1" }, clock: slowClock });
  await endingOf(stage, 9);
  stage.hub.endings.length = 0;
  started.length = 0;
  stage.hub.queue = [job(1), job(2), job(3)];
  stage.hub.command("work");
  // It is announced after a moment, and by then the others wait behind it.
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1);
  return { started, endFirst: () => first.resolve(null) };
}

test("a stopping worker releases waiting jobs at once and lets running jobs end", async () => {
  const { started, endFirst } = await holdTwo();
  const stopped = stage.worker!.stop();
  await stage.hub.until(() => stage.hub.pathsOf(/\/release$/).length === 2);
  expect(stage.hub.endings).toEqual([]);
  endFirst();
  await stopped;
  expect(started).toEqual([testJobId(1)]);
  expect(stage.hub.endings).toMatchObject([{ job_id: testJobId(1), result: null }]);
});

test("a draining worker releases waiting jobs", async () => {
  const { started, endFirst } = await holdTwo();
  stage.hub.command("drain");
  await stage.hub.until(() => stage.hub.pathsOf(/\/release$/).length === 2);
  endFirst();
  await endingOf(stage, 1);
  expect(started).toEqual([testJobId(1)]);
});

test("a job that is lost while it waits does not start and is not reported", async () => {
  const { started, endFirst } = await holdTwo();
  stage.hub.command("lost", { job_id: testJobId(2) });
  // Commands arrive in order, so the first has arrived when the second is carried out.
  stage.hub.command("cancel", { job_id: testJobId(3) });
  expect(await endingOf(stage, 3)).toMatchObject({ code: "CANCELLED" });
  endFirst();
  await endingOf(stage, 1);
  expect(started).toEqual([testJobId(1)]);
  expect(stage.hub.endings.map(({ job_id }) => job_id)).not.toContain(testJobId(2));
  expect(stage.hub.pathsOf(/\/release$/)).toEqual([]);
});
