import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import type { Reports, ResultAnswer } from "../hub/hub-calls.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import { ResultReporter } from "./report-results.ts";

type Finish = (items: readonly string[]) => Promise<ResultAnswer[]> | ResultAnswer[];

const forever = new AbortController().signal;

function reporterOn(finish: Finish, quit: AbortSignal = forever): ResultReporter {
  const calls = {
    accepts: () => true,
    finishJobs: async ({ items }: Reports) => ({ refusedEnds: [], items: await finish(items) }),
  };
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
  const reports = await Promise.all([
    reporter.report({ text: item(1) }, forever),
    reporter.report({ text: item(2) }, forever),
  ]);
  expect(reports).toEqual([{ kind: "lost" }, { kind: "kept" }]);
});

test("an item that the hub cannot read does not delay the others", async () => {
  const reporter = reporterOn((items) => {
    if (items.includes(item(1))) throw new WritError("INVALID_JSON", "bad");
    return kept(items);
  });
  const reports = await Promise.all([1, 2, 3].map((job) => reporter.report({ text: item(job) }, forever)));
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
  const reported = reporter.report({ text: item(1) }, forever);
  setImmediate(() => quit.abort());
  expect(await reported).toEqual({ kind: "lost" });
});

test("reports are repeated until the hub answers", async () => {
  let calls = 0;
  const reporter = reporterOn((items) => {
    if (++calls < 3) throw new WritError("HUB_UNREACHABLE", "away");
    return kept(items);
  });
  expect(await reporter.report({ text: item(1) }, forever)).toEqual({ kind: "kept" });
  expect(calls).toBe(3);
});

test("an item whose store was away is sent again by itself", async () => {
  const away = { code: "STORE_UNAVAILABLE", message: "" };
  const seen: number[] = [];
  const reporter = reporterOn((items) => {
    seen.push(items.length);
    return seen.length === 1 ? [{ job_id: null, error: away }, { job_id: null }] : kept(items);
  });
  const reports = await Promise.all([
    reporter.report({ text: item(1) }, forever),
    reporter.report({ text: item(2) }, forever),
  ]);
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
  const begun = reporter.report({ text: item(0) }, forever);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = Array.from({ length: 300 }, (_, job) => reporter.report({ text: item(job) }, forever));
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
  await Promise.all(Array.from({ length: 8 }, () => reporter.report({ text: large }, forever)));
  expect(sizes).toEqual([6, 2]);
});

test("rows and items of one call are signed in the order of the hub's list, with their leases", async () => {
  const sent: Reports[] = [];
  const signed: unknown[] = [];
  const calls = {
    accepts: () => true,
    finishJobs: async (reports: Reports) => {
      sent.push(reports);
      const error = { code: "INVALID_ARGUMENT", message: "no" };
      return { refusedEnds: [{ row: 1, job_id: null, error }], items: kept(reports.items) };
    },
  };
  const presence = new HubPresence(silentLogger, systemClock);
  const signReceipts = (hashes: string[], leases: unknown): string => {
    signed.push([hashes, leases]);
    return "signature";
  };
  const deps = { clock: systemClock, random: () => 0, presence, calls, signReceipts };
  const reporter = new ResultReporter(deps, forever);
  const receipt = (sha256: string, leaseSha256: string) => ({ sha256, leaseSha256 });
  const reports = await Promise.all([
    reporter.report({ text: "i1", receipt: receipt("r1", "l1") }, forever),
    reporter.report({ text: "[1]", isRow: true, receipt: receipt("r2", "l1") }, forever),
    reporter.report({ text: "[2]", isRow: true, receipt: receipt("r3", "l2") }, forever),
    reporter.report({ text: "i2" }, forever),
  ]);
  expect(reports.map(({ kind }) => kind)).toEqual(["kept", "kept", "refused", "kept"]);
  const leases = [
    ["l1", 1],
    ["l2", 1],
    ["l1", 1],
  ];
  expect(signed).toEqual([[["r2", "r3", "r1"], leases]]);
  expect(sent).toEqual([
    { ends: ["[1]", "[2]"], items: ["i1", "i2"], receipts: { signature: "signature", leases } },
  ]);
});
