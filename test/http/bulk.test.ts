import { expect, test } from "vitest";
import { readEvents } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import {
  cancelledJob,
  completedJob,
  failedJob,
  freshName,
  jobReader,
  quarantinedJob,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

type Outcome = { matched: number; done: number; left: { id: string; why: string }[]; more: boolean };

async function bulk(body: object, token = hub.admin): Promise<Outcome> {
  return (await hub.must("POST", "/jobs/bulk", { token, body })).json<Outcome>();
}

test.each([
  [{ act: "explode", filter: {} }, "act"],
  [{ act: "cancel" }, "filter"],
  [{ act: "cancel", filter: {}, ids: [] }, "filter"],
  [{ act: "cancel", filter: { status: "asleep" } }, "filter.status"],
  [{ act: "cancel", filter: { since: "1" } }, "filter.since"],
])("C4: %j is refused with the field", async (body, path) => {
  const answer = await hub.call("POST", "/jobs/bulk", { token: hub.admin, body });
  expect(answer.status).toBe(400);
  expect(answer.json()).toMatchObject({
    error: { message: expect.stringMatching(new RegExp(`^${path}: `)) },
  });
});

test("C4: a dry run counts what would be cancelled and changes nothing", async () => {
  const type = freshName("dry");
  await completedJob(hub, { type });
  const { id } = await submitJob(hub, { type });
  const outcome = await bulk({ act: "cancel", filter: { type }, dry_run: true });
  expect(outcome).toEqual({ matched: 1, done: 0, left: [], more: false });
  expect((await view(id)).status).toBe("pending");
});

test("a dry run with ids counts the jobs that would be changed, and names the others", async () => {
  const mine = await submitJob(hub, { token: tokens.alice });
  const done = await completedJob(hub, { token: tokens.alice });
  const foreign = await submitJob(hub, { token: tokens.eve });
  const invented = "0198c5a0-0000-7000-8000-000000000000";
  const ids = [mine.id, done.id, foreign.id, invented];
  expect(await bulk({ act: "cancel", ids, dry_run: true }, tokens.alice)).toEqual({
    matched: 1,
    done: 0,
    left: [
      { id: done.id, why: expect.stringMatching(/^STATE_CONFLICT: /) },
      { id: foreign.id, why: expect.stringMatching(/^NOT_FOUND: /) },
      { id: invented, why: expect.stringMatching(/^NOT_FOUND: /) },
    ],
    more: false,
  });
  expect((await view(mine.id)).status).toBe("pending");
});

test("C4: everything that waits or runs is cancelled, and nothing else is touched", async () => {
  const type = freshName("cancel");
  const done = await completedJob(hub, { type });
  const running = await runningJob(hub, { type });
  const waiting = await submitJob(hub, { type });
  expect(await bulk({ act: "cancel", filter: { type } })).toMatchObject({ matched: 2, done: 2, left: [] });
  expect(await view(waiting.id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
  expect((await view(running.id)).cancel_requested_at).not.toBeNull();
  expect((await view(done.id)).status).toBe("completed");
});

test("C4: failed and dead jobs are retried; stopped ones only if the filter names them", async () => {
  const type = freshName("retry");
  const failed = await failedJob(hub, { type });
  const dead = await quarantinedJob(hub, { type });
  const stopped = await cancelledJob(hub, { type });
  expect(await bulk({ act: "retry", filter: { type, status: "dead" }, dry_run: true })).toMatchObject({
    matched: 1,
  });
  expect(await bulk({ act: "retry", filter: { type } })).toMatchObject({ matched: 2, done: 2 });
  for (const { id } of [failed, dead]) expect((await view(id)).status).toBe("pending");
  expect((await view(stopped.id)).status).toBe("failed");
  expect(await bulk({ act: "retry", filter: { type, fail_code: "CANCELLED" } })).toMatchObject({ done: 1 });
});

test("C4: one that cannot be changed is named and stops no other", async () => {
  const done = await completedJob(hub);
  const waiting = await submitJob(hub);
  const outcome = await bulk({ act: "cancel", ids: [done.id, waiting.id, waiting.id] });
  expect(outcome).toMatchObject({ matched: 2, done: 1 });
  expect(outcome.left).toEqual([{ id: done.id, why: expect.stringMatching(/^STATE_CONFLICT: /) }]);
});

test("C4: a user finds only its own jobs, and cannot change those of others by their ids", async () => {
  const type = freshName("mine");
  const mine = await submitJob(hub, { token: tokens.alice, type });
  const other = await submitJob(hub, { type });
  const filter = { type };
  expect(await bulk({ act: "cancel", filter, dry_run: true }, tokens.alice)).toMatchObject({ matched: 1 });
  const outcome = await bulk({ act: "cancel", ids: [mine.id, other.id] }, tokens.alice);
  expect(outcome).toMatchObject({ done: 1, left: [{ id: other.id }] });
  expect((await view(other.id)).status).toBe("pending");
});

test("C4: the list counts all jobs that fit, when it is asked to", async () => {
  const type = freshName("counted");
  for (let index = 0; index < 3; index++) await submitJob(hub, { type });
  await failedJob(hub, { type });
  await cancelledJob(hub, { type });
  const total = async (query: string) =>
    (await hub.must("GET", `/jobs?type=${type}&limit=1&${query}`, { token: hub.admin })).headers[
      "x-total-count"
    ];
  expect(await total("count=true")).toBe("5");
  expect(await total("count=true&status=failed&fail_code=!CANCELLED")).toBe("1");
  expect(await total("count=false")).toBeUndefined();
});

test("refused jobs of other users are recorded as if they had been tried one by one", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  const outcome = await bulk({ act: "cancel", ids: [id] }, tokens.bob);
  expect(outcome).toMatchObject({
    done: 0,
    left: [{ id, why: expect.stringMatching(/^PERMISSION_DENIED: /) }],
  });
  const denials = readEvents(hub.home).filter(
    ({ event, job_id }) => event === "PERMISSION_DENIED" && job_id === id,
  );
  expect(denials).toMatchObject([{ origin: { userId: "bob" } }]);
});
