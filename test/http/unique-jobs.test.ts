import { expect, test } from "vitest";
import type { EventView } from "../../src/contract/shapes/view-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const send = (unique: object, token = tokens.alice, more: object = {}) =>
  hub.call("POST", "/jobs", { token, body: { type: "unique", unique, ...more } });

test("hazard 17: a key of another user's job is refused without its id, and recorded; the job stays", async () => {
  const key = freshName("key");
  const { id } = await submitJob(hub, { token: tokens.alice, unique: { key, until: "end" } });
  for (const on_duplicate of ["keep", "replace"]) {
    const refused = await send({ key, until: "end", on_duplicate }, tokens.bob);
    expect(refused).toMatchObject({ status: 409, code: "UNIQUE_HELD" });
    expect(refused.text).not.toContain(id);
    expect(refused.text).not.toContain("alice");
  }
  expect(await view(id)).toMatchObject({ status: "pending", unique: { key, until: "end" } });
  const trail = await hub.must("GET", "/audit?event=PERMISSION_DENIED", { token: tokens.admin });
  expect(trail.text).toContain("another user's job has the unique key");
});

test("a duplicate is answered with the job that stands, alone and in a batch, and is an event of it", async () => {
  const unique = { key: freshName("key"), until: "end" };
  const { id } = await submitJob(hub, { token: tokens.alice, unique });
  const duplicate = { id, status: "pending", duplicate: true };
  const answer = await send(unique);
  expect([answer.status, answer.json()]).toEqual([200, duplicate]);
  const jobs = [{ type: "unique", unique }, { type: "unique" }];
  const batch = await hub.must("POST", "/jobs/batch", { token: tokens.alice, body: { jobs } });
  expect(batch.json()).toMatchObject({ jobs: [duplicate, { status: "pending" }] });
  const events = (await hub.must("GET", `/jobs/${id}/events`, { token: tokens.alice })).json<EventView[]>();
  expect(events.map(({ event }) => event)).toEqual(["JOB_CREATED", "JOB_DEDUPLICATED", "JOB_DEDUPLICATED"]);
});

test("a debounced job begins to wait with the first trigger, and a replaced one is shown as superseded", async () => {
  const debounce = { key: freshName("key"), until: "start", on_duplicate: "postpone", debounce_sec: 30 };
  const first = await submitJob(hub, { token: tokens.alice, unique: debounce });
  const { created_at, run_at } = await view(first.id);
  expect(run_at).toBe(created_at + 30_000);
  const given = await submitJob(hub, {
    token: tokens.alice,
    unique: { ...debounce, key: freshName("key") },
    delay_ms: 1_000,
  });
  const shown = await view(given.id);
  expect(shown.run_at).toBe(shown.created_at + 1_000);

  const replace = { key: freshName("key"), until: "start", on_duplicate: "replace" };
  const old = await submitJob(hub, { token: tokens.alice, unique: replace });
  const answer = await send(replace);
  expect(answer.status).toBe(201);
  expect(await view(old.id)).toMatchObject({
    status: "failed",
    fail_code: "CANCELLED",
    fail_detail: "SUPERSEDED",
  });
  const retried = await hub.call("POST", `/jobs/${old.id}/retry`, { token: tokens.alice, body: {} });
  expect(retried).toMatchObject({ status: 409, code: "UNIQUE_HELD" });
  const counts = await hub.must("GET", "/jobs/counts?type=unique", { token: tokens.alice });
  expect(counts.json()).toMatchObject({ failed: { count: 0 } });
});
