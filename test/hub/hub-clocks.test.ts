import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { freshName, jobReader, runningJob, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";

const hoursMs = 2 * 3_600_000;
const quick = {
  WRIT_LEASE_MS: "3600000",
  WRIT_WORKER_INACTIVE_MS: "3600000",
  WRIT_REAPER_INTERVAL_MS: "100",
  WRIT_BACKOFF_SCALE: "0",
};

describe.skipIf(noPostgres !== undefined)(
  `hubs on one database whose clocks differ${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    /** The first one leads. Its machine has a clock that a test can set; that of the other one is right. */
    async function twoHubs({ startsByMs }: { startsByMs: number }) {
      const name = freshName("d").replaceAll("-", "_");
      await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
      const keys = mkdtempSync(join(tmpdir(), "writ-clocks-"));
      onTestFinished(() => rmSync(keys, { recursive: true, force: true }));
      const env = { ...quick, WRIT_DATABASE_URL: cluster.url(name), WRIT_KEYS_DIR: keys };
      let byMs = startsByMs;
      const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + byMs };
      const leader = await startTestHub(env, { clock });
      onTestFinished(() => leader.stop());
      const right = await startTestHub(env);
      onTestFinished(() => right.stop());
      return { leader, right, set: (ms: number) => (byMs = ms) };
    }

    /** Resolves when the leader's reaper has done a whole round: it ends a job that may not wait. */
    async function reaperRound(hub: TestHub): Promise<void> {
      const { id } = await submitJob(hub, { queue_ttl_sec: 1 });
      const ended = async () => (await jobReader(hub)(id)).status === "failed";
      await eventually("a job that may not wait is ended", ended);
    }

    test.each([
      ["ahead", hoursMs],
      ["behind", -hoursMs],
    ])("a leader that is hours %s ends no lease too early, and waits in time", async (_, startsByMs) => {
      const { leader, right } = await twoHubs({ startsByMs });
      const held = [await runningJob(right), await runningJob(leader)];
      await reaperRound(right);
      await reaperRound(leader);
      for (const { id } of held)
        expect(await jobReader(right)(id)).toMatchObject({
          status: "running",
          attempts: 1,
          fail_history: [],
        });
      const shown = await Promise.all(held.map(({ id }) => jobReader(leader)(id)));
      // Both were claimed by one clock.
      expect(Math.abs(shown[0]!.claimed_at! - shown[1]!.claimed_at!)).toBeLessThan(hoursMs / 2);
    });

    test("a leader whose clock is set while it runs continues with the database's clock", async () => {
      const { leader, right, set } = await twoHubs({ startsByMs: 0 });
      const { id, fence } = await runningJob(right);
      for (const byMs of [hoursMs, -hoursMs]) {
        set(byMs);
        await reaperRound(leader);
        await reaperRound(right);
        expect(await jobReader(right)(id)).toMatchObject({
          status: "running",
          attempts: 1,
          fail_history: [],
        });
        const renewal = { token: leader.admin, body: fence };
        expect(await leader.call("POST", `/jobs/${id}/heartbeat`, renewal)).toMatchObject({ status: 204 });
      }
    });
  },
);
