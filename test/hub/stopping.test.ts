import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub } from "../support/hub.ts";
import { freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";

test("a stopping hub ends its streams and waiting claims, and each call gets a whole answer or none", async () => {
  const hub = await startTestHub();
  const { home, admin } = hub;
  const workerId = await registerWorker(hub);
  const held = await runningJob(hub);
  const streams = [
    await openEventStream(hub, "/jobs/events", { token: admin }),
    await openEventStream(hub, `/workers/${workerId}/commands`, { token: admin }),
    await openEventStream(hub, `/jobs/${held.id}/output/stdout?follow=true`, { token: admin }),
  ];
  const type = freshName("nothing");
  const waiting = hub
    .call("POST", "/jobs/claim", {
      token: admin,
      body: { worker_id: workerId, types: [type], wait_ms: 60_000 },
    })
    .then((answer) => answer.status)
    .catch(() => "hung up");
  await eventually("the claim waits", async () => {
    const { text } = await hub.must("GET", "//metrics", { token: admin });
    return /^writ_waiting_workers [1-9]/m.test(text);
  });
  const acknowledged: string[] = [];
  let isOver = false;
  const load = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const body = { type, run: { kind: "exec", argv: ["true"] } };
      const answer = await hub.call("POST", "/jobs", { token: admin, body }).catch(() => null);
      if (answer === null) break;
      expect([201, 503]).toContain(answer.status);
      if (answer.status === 201) acknowledged.push(answer.json<{ id: string }>().id);
    }
  });
  await eventually("the load is on", () => acknowledged.length > 20);
  await hub.stop({ keepHome: true });
  isOver = true;
  await Promise.all([...load, ...streams.map((stream) => stream.ended)]);
  expect([200, 204, "hung up"]).toContain(await waiting);

  const again = await startTestHub({}, { home });
  for (const id of acknowledged) {
    expect((await again.call("GET", `/jobs/${id}`, { token: admin })).status).toBe(200);
  }
  const job = (await again.must("GET", `/jobs/${held.id}`, { token: admin })).json<JobView>();
  expect(job).toMatchObject({ status: "running", attempt: 1, attempts: 1 });
  const body = { ...held.fence, result: "after the restart" };
  expect((await again.call("POST", `/jobs/${held.id}/result`, { token: admin, body })).status).toBe(200);
  await again.stop();
});

test("a second hub for the same home is refused in a line that names the first", async () => {
  const hub = await startTestHub();
  await expect(startTestHub({}, { home: hub.home })).rejects.toThrow(hub.url);
  expect((await submitJob(hub)).id).toBeDefined();
  await hub.stop();
});
