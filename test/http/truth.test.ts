import { expect, test } from "vitest";
import type { EventView } from "../../src/contract/shapes/view-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, jobReader, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll({ ...stillEnv, WRIT_BACKOFF_SCALE: "0" });
const tokens = tokensOf(hub);
const readJob = jobReader(hub);

const eventsOf = async (id: string) =>
  (await hub.must("GET", `/jobs/${id}/events`, { token: hub.admin })).json<EventView[]>();

test("O-31 a job tells its time limit as it was submitted, and as timeouts have doubled it", async () => {
  const workerId = await registerWorker(hub);
  const held = await runningJob(hub, { workerId, timeout_sec: 120, max_attempts: 3 });
  expect(await readJob(held.id)).toMatchObject({ timeout_sec: 120, submitted_timeout_sec: 120 });
  const body = { ...held.fence, reason: "too long", code: "TIMEOUT" };
  await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
  await claimJob(hub, { workerId, type: held.type });
  expect(await readJob(held.id)).toMatchObject({ timeout_sec: 240, submitted_timeout_sec: 120 });
});

test("O-31 the events of a job tell who cancelled it: before it ran, and while it ran", async () => {
  const waiting = await submitJob(hub, { token: tokens.alice });
  await hub.must("DELETE", `/jobs/${waiting.id}`, { token: tokens.alice });
  expect((await eventsOf(waiting.id)).at(-1)).toMatchObject({ event: "JOB_FAILED", user_id: "alice" });
  const held = await runningJob(hub, { token: tokens.alice });
  await hub.must("DELETE", `/jobs/${held.id}`, { token: tokens.acmeAdmin });
  const asked = (await eventsOf(held.id)).find(({ event }) => event === "JOB_CANCEL_REQUESTED");
  expect(asked).toMatchObject({ user_id: "ada" });
});
