import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import type { ResultAnswer } from "../hub/hub-calls.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import { ResultReporter } from "./report-results.ts";

type Finish = (items: readonly string[]) => Promise<ResultAnswer[]> | ResultAnswer[];

const forever = new AbortController().signal;

function reporterOn(finish: Finish, quit: AbortSignal = forever): ResultReporter {
  const calls = { finishJobs: async (items: readonly string[]) => finish(items) };
  const presence = new HubPresence(silentLogger, systemClock);
  return new ResultReporter({ clock: systemClock, random: () => 0, presence, calls }, quit);
}

function kept(items: readonly string[]): ResultAnswer[] {
  return items.map(() => ({ job_id: null, status: "completed" }));
}

function item(job: number): string {
  return JSON.stringify({ job });
}

test("a lost lease drops its item and no other", async () => {
  const lost = { code: "LEASE_LOST", message: "" };
  const reporter = reporterOn((items) =>
    items.map((text) => ({ job_id: null, ...(text === item(1) ? { error: lost } : {}) })),
  );
  const reports = await Promise.all([reporter.report(item(1), forever), reporter.report(item(2), forever)]);
  expect(reports).toEqual([{ kind: "lost" }, { kind: "kept" }]);
});

test("an item that the hub cannot read does not delay the others", async () => {
  const reporter = reporterOn((items) => {
    if (items.includes(item(1))) throw new WritError("INVALID_JSON", "bad");
    return kept(items);
  });
  const reports = await Promise.all([1, 2, 3].map((job) => reporter.report(item(job), forever)));
  expect(reports).toEqual([
    { kind: "refused", code: "INVALID_JSON", message: "bad" },
    { kind: "kept" },
    { kind: "kept" },
  ]);
});

test("items that wait when the worker ends are given up", async () => {
  const quit = new AbortController();
  const reporter = reporterOn(() => {
    throw new WritError("HUB_UNREACHABLE", "away");
  }, quit.signal);
  const reported = reporter.report(item(1), forever);
  setImmediate(() => quit.abort());
  expect(await reported).toEqual({ kind: "lost" });
});

test("reports are repeated until the hub answers", async () => {
  let calls = 0;
  const reporter = reporterOn((items) => {
    if (++calls < 3) throw new WritError("HUB_UNREACHABLE", "away");
    return kept(items);
  });
  expect(await reporter.report(item(1), forever)).toEqual({ kind: "kept" });
  expect(calls).toBe(3);
});

test("an item whose store was away is sent again by itself", async () => {
  const away = { code: "STORE_UNAVAILABLE", message: "" };
  const seen: number[] = [];
  const reporter = reporterOn((items) => {
    seen.push(items.length);
    return seen.length === 1 ? [{ job_id: null, error: away }, { job_id: null }] : kept(items);
  });
  const reports = await Promise.all([reporter.report(item(1), forever), reporter.report(item(2), forever)]);
  expect(reports).toEqual([{ kind: "kept" }, { kind: "kept" }]);
  expect(seen).toEqual([2, 1]);
});

test("attempts that end during a call are reported with the next one, at most 256 at a time", async () => {
  const sizes: number[] = [];
  const first = Promise.withResolvers<void>();
  const reporter = reporterOn(async (items) => {
    sizes.push(items.length);
    if (sizes.length === 1) await first.promise;
    return kept(items);
  });
  const begun = reporter.report(item(0), forever);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = Array.from({ length: 300 }, (_, job) => reporter.report(item(job), forever));
  first.resolve();
  await Promise.all([begun, ...rest]);
  expect(sizes).toEqual([1, 256, 44]);
});

test("large items are spread over several calls", async () => {
  const sizes: number[] = [];
  const reporter = reporterOn((items) => {
    sizes.push(items.length);
    return kept(items);
  });
  const large = JSON.stringify("x".repeat(1024 ** 2));
  await Promise.all(Array.from({ length: 8 }, () => reporter.report(large, forever)));
  expect(sizes).toEqual([6, 2]);
});
