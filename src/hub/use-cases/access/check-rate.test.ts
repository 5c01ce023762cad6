import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { openSqliteStore } from "../../../store/sqlite/open-store.ts";
import { RateLimits } from "../../services/rate-limits.ts";
import { type CheckedRate, checkRate } from "./check-rate.ts";

const origin = {
  userId: "w",
  ipAddress: "10.0.0.1",
  userAgent: null,
  endpoint: "/jobs/claim",
  method: "POST",
} as const;

/** A real log, and a clock that only the test moves. */
async function openRates() {
  const folder = mkdtempSync(join(tmpdir(), "writ-rates-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let passedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => passedMs };
  const deps = { store, clock, limits: new RateLimits(clock) };
  return {
    pass: (ms: number) => {
      passedMs += ms;
    },
    /** Makes this many calls at once; resolves with the number that was refused. */
    async flood(count: number, rate: Partial<CheckedRate> = {}): Promise<number> {
      const { limit = "claims", subject = "w1" } = rate;
      const checked = {
        perSecond: 10,
        refusal: "too fast",
        origin,
        tenantId: "acme",
        ...rate,
        limit,
        subject,
      };
      const calls = Array.from({ length: count }, () =>
        checkRate(deps, { ...checked, details: { worker_id: subject } }),
      );
      const outcomes = await Promise.allSettled(calls);
      const refused = outcomes.filter(({ status }) => status === "rejected");
      for (const outcome of refused) {
        expect(outcome).toMatchObject({ reason: { code: "RATE_LIMITED", details: { retry_after_sec: 1 } } });
      }
      return refused.length;
    },
    notes: () => store.readEvents({ afterSeq: 0, limit: 100 }),
  };
}

test("calls beyond the rate are refused, and one record names the caller, its address and the limit", async () => {
  const { flood, notes } = await openRates();
  expect(await flood(500)).toBe(490);
  expect(await notes()).toMatchObject([
    { event: "RATE_LIMIT_HIT", tenantId: "acme", origin, details: { limit: "claims", worker_id: "w1" } },
  ]);
});

test("calls within the rate leave no record", async () => {
  const { flood, notes, pass } = await openRates();
  for (let second = 0; second < 5; second++) {
    expect(await flood(10)).toBe(0);
    pass(1_000);
  }
  expect(await notes()).toEqual([]);
});

test("a continuing flood leaves one record a minute for each caller and limit", async () => {
  const { flood, notes, pass } = await openRates();
  for (let second = 0; second < 120; second++) {
    expect(await flood(15)).toBeGreaterThan(0);
    pass(1_000);
  }
  expect(await notes()).toHaveLength(2);
  await flood(15, { subject: "w2" });
  await flood(15, { limit: "heartbeats" });
  const last = (await notes()).slice(2).map(({ details }) => [details["limit"], details["worker_id"]]);
  expect(last).toEqual([
    ["claims", "w2"],
    ["heartbeats", "w1"],
  ]);
});
