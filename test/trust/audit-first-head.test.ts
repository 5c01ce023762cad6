import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { submitJob } from "../support/jobs.ts";

test("a hub that has begun to lead signs a head at once, and does not wait for a minute to pass", async () => {
  // No minute ever passes here.
  const monotonicMs = systemClock.monotonicMs();
  const hub = await startTestHub(stillEnv, { clock: { ...systemClock, monotonicMs: () => monotonicMs } });
  onTestFinished(() => hub.stop());
  await submitJob(hub);
  const heads = join(hub.home, "audit-heads.ndjson");
  await eventually("a head is in the home", () => {
    return existsSync(heads) && readFileSync(heads, "utf8").includes('"audit":"head"');
  });
});
