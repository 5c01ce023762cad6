import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import { ProgressReporter } from "./report-progress.ts";

const held = { lease: {}, gone: new AbortController() } as HeldJob;

test("only the latest of the reports that waited for the announcement is sent", async () => {
  const clock = handClock();
  const announced = Promise.withResolvers<void>();
  const sent: number[] = [];
  const progress = async (_lease: unknown, report: { progress: number }) => void sent.push(report.progress);
  const reporter = new ProgressReporter({ calls: { progress }, clock }, held, () => announced.promise);
  for (const percent of [10, 20, 30]) {
    reporter.report(percent);
    await clock.pass(250);
  }
  expect(sent).toEqual([]);
  announced.resolve();
  await setImmediate();
  expect(sent).toEqual([30]);
  reporter.report(40);
  await clock.pass(250);
  expect(sent).toEqual([30, 40]);
});

test("no progress is sent after the end of the attempt", async () => {
  const clock = handClock();
  const announced = Promise.withResolvers<void>();
  const sent: number[] = [];
  const progress = async (_lease: unknown, report: { progress: number }) => void sent.push(report.progress);
  const reporter = new ProgressReporter({ calls: { progress }, clock }, held, () => announced.promise);
  reporter.report(10);
  reporter.stop();
  announced.resolve();
  await setImmediate();
  expect(sent).toEqual([]);
});

test("unchanged progress is sent once, and again if the report was lost", async () => {
  const clock = handClock();
  const sent: unknown[] = [];
  let isAway = false;
  const progress = async (_lease: unknown, report: object) => {
    sent.push(report);
    if (isAway) throw new Error("the hub is away");
  };
  const reporter = new ProgressReporter({ calls: { progress }, clock }, held, async () => {});
  const report = async (percent: number, detail: string) => {
    reporter.report(percent, detail);
    await clock.pass(250);
    await setImmediate();
  };
  await report(30, "reading");
  await report(30, "reading");
  await report(30, "writing");
  isAway = true;
  await report(40, "writing");
  await report(40, "writing");
  expect(sent).toEqual([
    { progress: 30, detail: "reading" },
    { progress: 30, detail: "writing" },
    { progress: 40, detail: "writing" },
    { progress: 40, detail: "writing" },
  ]);
});
