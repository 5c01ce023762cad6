import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";
import { startTestWorker } from "../support/worker.ts";

const awayMs = 600_000;

test("O-47 the time of a job whose end is reported ten minutes late is the time that it ran", async () => {
  let passedMs = 0;
  const clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + passedMs,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
  };
  const hub = await startTestHub({ ...stillEnv, WRIT_LEASE_MS: "3600000" }, { clock });
  onTestFinished(() => hub.stop());
  const { id, type } = await submitJob(hub, { timeout_sec: 3_600 });
  const worker = await startTestWorker(hub, {
    types: [type],
    async failpoint(name) {
      // As if the hub had been away since the process ended.
      if (name === "worker.beforeReport") passedMs = awayMs;
    },
  });
  onTestFinished(() => worker.stop());
  const job = await eventually("it has completed", async () => {
    const view = await jobReader(hub)(id);
    return view.status === "completed" && view;
  });
  expect(job.completed_at! - job.created_at).toBeGreaterThanOrEqual(awayMs);
  expect(job.execution_time_ms).toBeLessThan(awayMs);
  expect(job.usage ?? {}).not.toHaveProperty("run_ms");
});
