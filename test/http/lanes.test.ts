import { expect, test } from "vitest";
import type { LaneView } from "../../src/contract/shapes/lane-shapes.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, freshName, jobReader, registerWorker, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const submit = (lanes: unknown, token = tokens.alice) =>
  hub.call("POST", "/jobs", { token, body: { type: "t", run: { kind: "exec", argv: ["true"] }, lanes } });
const laneOf = async (name: string, token: string) => {
  const lanes = (await hub.must("GET", "/lanes", { token })).json<LaneView[]>();
  return lanes.find((lane) => lane.name === name);
};

test.each([
  [[], "lanes"],
  [[{ name: "a" }], "lanes[0]"],
  [[{ name: "..", max_running: 1 }], "lanes[0].name"],
  [[{ name: "a b", max_running: 1 }], "lanes[0].name"],
  [[{ name: "a", max_running: 0 }], "lanes[0].max_running"],
  [[{ name: "a", rate: { limit: 2, period_sec: 1, burst: 3 } }], "lanes[0].rate.burst"],
  [[1, 2].map(() => ({ name: "a", max_running: 1 })), "lanes[1].name"],
  [[1, 2, 3, 4].map((n) => ({ name: `a${n}`, max_running: 1 })), "lanes"],
])("refuses %j and names the field", async (lanes, field) => {
  const refused = await submit(lanes);
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.json())).toContain(`"${field}"`);
});

test("other numbers of another user are refused with those that hold, and the same ones are accepted", async () => {
  const name = freshName("lane");
  const lane = { name, max_running: 2, rate: { limit: 5, period_sec: 60 } };
  expect((await submit([lane])).status).toBe(201);
  const refused = await submit([{ ...lane, max_running: 3 }], tokens.bob);
  expect(refused.status).toBe(409);
  expect(refused.json()).toMatchObject({
    error: {
      code: "LANE_DIFFERS",
      details: { name, max_running: 2, rate: { limit: 5, period_sec: 60, burst: 1 } },
    },
  });
  expect((await submit([lane], tokens.bob)).status).toBe(201);
  expect((await submit([{ ...lane, max_running: 3 }])).status).toBe(201);
  expect(await laneOf(name, tokens.bob)).toMatchObject({ max_running: 3, unfinished: 3, active: 0 });
});

test("a job waits for its lane, says for which, and others are told its holder only if they may read it", async () => {
  const lanes = [{ name: freshName("lane"), max_running: 1 }];
  const first = await submitJob(hub, { token: tokens.alice, lanes });
  const second = await submitJob(hub, { token: tokens.alice, type: first.type, lanes });
  expect((await view(first.id)).lanes).toEqual(lanes);
  const workerId = await registerWorker(hub);
  const held = await claimJob(hub, { workerId, type: first.type });
  expect(held.id).toBe(first.id);
  await expect(claimJob(hub, { workerId, type: first.type })).rejects.toThrow("to claim");
  const why = await hub.must("GET", `/jobs/${second.id}/why`, { token: tokens.alice });
  expect(why.json<WhyView>()).toMatchObject({ held_by: "lane", summary: expect.stringContaining(first.id) });
  const name = lanes[0]!.name;
  expect((await laneOf(name, tokens.alice))!.holders).toEqual([{ job_id: first.id, until: null }]);
  expect((await laneOf(name, tokens.bob))!.holders).toEqual([]);
  await hub.must("POST", `/jobs/${first.id}/start`, { token: hub.admin, body: held.fence });
  await hub.must("POST", `/jobs/${first.id}/result`, {
    token: hub.admin,
    body: { ...held.fence, result: 1 },
  });
  expect((await claimJob(hub, { workerId, type: first.type })).id).toBe(second.id);
});
