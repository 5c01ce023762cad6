import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/runtime/clock/clock.ts";
import { type EventStream, openEventStream } from "../support/event-stream.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, registerWorker, submitJob } from "../support/jobs.ts";

/** What happens between the look of a claim and its answer; a claim without an entry is left alone. */
const afterLook = new Map<string, () => Promise<unknown>>();
/** The name under which the claim in question acts, because a failpoint does not know whose look it was. */
let looking = "";

// The reaper wakes everybody at each round, which would hide a wake-up that was lost: after its first it does no more.
const reaperMs = 59_999;
const env = { ...stillEnv, WRIT_REAPER_INTERVAL_MS: String(reaperMs) };
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === reaperMs ? 86_400_000 : ms, signal),
};

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub(env, {
    clock,
    failpoint: async (name) => {
      if (name !== "claim.afterCommit") return;
      const act = afterLook.get(looking);
      afterLook.delete(looking);
      await act?.();
    },
  });
});
afterAll(() => hub.stop());

/** A worker whose command stream is open, and how to learn that it was told of work once more. */
async function listeningWorker(): Promise<{
  workerId: string;
  told(): Promise<unknown>;
  stream: EventStream;
}> {
  const workerId = await registerWorker(hub);
  const stream = await openEventStream(hub, `/workers/${workerId}/commands`, { token: hub.admin });
  const count = (): number => stream.events.filter(({ event }) => event === "work").length;
  await stream.until("it is told to look once", () => count() === 1);
  return { workerId, stream, told: () => stream.until("it is told of work", () => count() === 2) };
}

function claim(workerId: string, type: string, more: Record<string, unknown> = {}) {
  const body = { worker_id: workerId, types: [type], max: 1, ...more };
  return hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body });
}

/** Claims, and does something after the look into the store has found what it finds. */
async function claimAround(
  workerId: string,
  { type, act, ...more }: { type: string; act: () => Promise<unknown>; [field: string]: unknown },
) {
  looking = workerId;
  afterLook.set(workerId, act);
  return claim(workerId, type, more);
}

describe("B16: a job that is committed between the look of a claim and its answer", () => {
  test("is announced on the worker's stream", async () => {
    const { workerId, told } = await listeningWorker();
    const type = freshName("between");
    const answer = await claimAround(workerId, { type, act: () => submitJob(hub, { type }) });
    expect(answer.status).toBe(204);
    await told();
    expect((await claim(workerId, type)).status).toBe(200);
  });

  test("ends the wait of a claim that waits", async () => {
    const workerId = await registerWorker(hub);
    const type = freshName("between");
    const answer = await claimAround(workerId, {
      type,
      wait_ms: 60_000,
      act: () => submitJob(hub, { type }),
    });
    expect(answer.json<{ jobs: unknown[] }>().jobs).toHaveLength(1);
  });

  test("is announced to another worker when the claim was filled", async () => {
    const first = await registerWorker(hub);
    const second = await listeningWorker();
    const { type } = await submitJob(hub);
    const answer = await claimAround(first, {
      type,
      act: async () => {
        // After the first in line, which is therefore woken for the job that comes then.
        await claim(second.workerId, type);
        await submitJob(hub, { type });
      },
    });
    expect(answer.json<{ jobs: unknown[] }>().jobs).toHaveLength(1);
    await second.told();
    expect((await claim(second.workerId, type)).status).toBe(200);
  });

  test("a job is announced when its paused queue resumes at that moment", async () => {
    const { workerId, told } = await listeningWorker();
    const type = freshName("paused");
    await hub.must("PUT", `/queues/${type}`, { token: hub.admin, body: { paused: true } });
    await submitJob(hub, { type });
    const goOn = () => hub.must("PUT", `/queues/${type}`, { token: hub.admin, body: { paused: false } });
    expect((await claimAround(workerId, { type, act: goOn })).status).toBe(204);
    await told();
    expect((await claim(workerId, type)).status).toBe(200);
  });
});
