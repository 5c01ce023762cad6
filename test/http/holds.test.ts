import { expect, test } from "vitest";
import type { EventView } from "../../src/contract/shapes/view-shapes.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, jobReader, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const send = (id: string, act: "hold" | "resume", token: string) =>
  hub.call("POST", `/jobs/${id}/${act}`, { token });

test("only those who may cancel a job may hold or resume it", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  for (const act of ["hold", "resume"] as const) {
    expect((await send(id, act, tokens.bob)).status).toBe(403);
    expect((await send(id, act, tokens.viewer)).status).toBe(403);
    expect((await send("00000000-0000-7000-8000-000000000000", act, tokens.alice)).status).toBe(404);
  }
  expect((await view(id)).held_at).toBeNull();
});

test("a job that a worker has is not held", async () => {
  const { id } = await runningJob(hub, { token: tokens.alice });
  const refused = await send(id, "hold", tokens.alice);
  expect(refused.status).toBe(409);
  expect(refused.json()).toMatchObject({ error: { code: "STATE_CONFLICT" } });
});

test("a held job is given to no worker, says why, and starts once it is resumed", async () => {
  const submitted = await submitJob(hub, { token: tokens.alice });
  expect((await send(submitted.id, "hold", tokens.alice)).json()).toEqual({
    id: submitted.id,
    status: "pending",
  });
  expect((await send(submitted.id, "hold", tokens.alice)).status).toBe(200);
  expect((await view(submitted.id)).held_at).toEqual(expect.any(Number));
  await expect(claimJob(hub, { ...submitted, workerId: await registerWorker(hub) })).rejects.toThrow(
    "to claim",
  );
  const why = await hub.must("GET", `/jobs/${submitted.id}/why`, { token: tokens.alice });
  expect(why.json<WhyView>()).toMatchObject({
    held_by: "hold",
    summary: expect.stringContaining("jobctl resume"),
  });
  expect((await send(submitted.id, "resume", hub.admin)).status).toBe(200);
  const events = await hub.must("GET", `/jobs/${submitted.id}/events`, { token: tokens.alice });
  const names = events.json<EventView[]>().map(({ event }) => event);
  expect(names).toEqual(["JOB_CREATED", "JOB_HELD", "JOB_RESUMED"]);
  const held = await claimJob(hub, { ...submitted, workerId: await registerWorker(hub) });
  expect(held.id).toBe(submitted.id);
});
