import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { readEvents, tamperWith } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, freshName, jobReader, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const corruptions = (id: string) =>
  readEvents(hub.home).filter(({ event, job_id }) => event === "STORE_CORRUPT" && job_id === id);

test("A8: an edited document is not shown as what was submitted", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice, params: { amount: 100 } });
  expect(await view(id)).toMatchObject({ params: { amount: 100 } });
  expect(await view(id)).not.toHaveProperty("damaged");
  await tamperWith(hub.home).editInDocument(id, '"amount":100', '"amount":900');
  expect(await view(id)).toMatchObject({ params: null, run: null, limits: null, damaged: ["document"] });
});

test("A8: an edited result is not shown as what the worker reported", async () => {
  const { id } = await completedJob(hub);
  await tamperWith(hub.home).editText(id, "result", '{"forged":true}');
  expect(await view(id)).toMatchObject({ status: "completed", result: null, damaged: ["result"] });
});

test("A8: one job that cannot be read does not make the list fail, and is shown as damaged, alone", async () => {
  const type = freshName("damaged");
  const ids: string[] = [];
  for (let index = 0; index < 3; index++) ids.push((await submitJob(hub, { token: tokens.alice, type })).id);
  const tamper = tamperWith(hub.home);
  await tamper.editDocument(ids[1]!, '{"this is the beginning of a docu');
  await tamper.editText(ids[1]!, "isolation", "{");
  await tamper.editText(ids[1]!, "usage", "[");
  const list = await hub.must("GET", `/jobs?type=${type}`, { token: tokens.alice });
  const jobs = list.json<JobView[]>();
  expect(jobs.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(jobs.map(({ damaged }) => damaged)).toEqual([
    undefined,
    ["document", "isolation", "usage"],
    undefined,
  ]);
  const why = await hub.must("GET", `/jobs/${ids[1]}/why`, { token: tokens.alice });
  expect(why.json<WhyView>()).toMatchObject({ held_by: "damaged" });
  expect((await hub.call("GET", `/jobs/${ids[1]}/events`, { token: tokens.alice })).status).toBe(200);
  expect((await hub.call("DELETE", `/jobs/${ids[1]}`, { token: tokens.alice })).status).toBe(204);
});

test("A8: damage is recorded once for each job, however often it is read", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  await tamperWith(hub.home).editJob(id, "priority", 9);
  for (let time = 0; time < 3; time++) expect(await view(id)).toMatchObject({ damaged: ["document"] });
  const found = corruptions(id);
  expect(found).toMatchObject([{ tenant_id: "acme", job_id: id, details: { parts: ["document"] } }]);
});
