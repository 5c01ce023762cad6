import { expect, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { readEvents } from "../support/database.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { registerWorker } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { startedForAll } from "../support/use-hub.ts";

const perSecond = 2_000;
// No machine is fast enough to break the limit for certain, so for this hub it is the same moment all the time.
const startedMs = systemClock.monotonicMs();
const clock = { ...systemClock, monotonicMs: () => startedMs };
const hub = startedForAll(() => startTestHub(stillEnv, { clock }));

type Ask = { method: string; path: string; body?: (workerId: string) => unknown };

const heartbeat: Ask = {
  method: "POST",
  path: "/workers/heartbeat",
  body: (worker_id) => ({ worker_id, status: "active", current_jobs: [] }),
};
const claim: Ask = { method: "POST", path: "/jobs/claim", body: (worker_id) => ({ worker_id }) };
const batch: Ask = {
  method: "POST",
  path: "/jobs/claim-batch",
  body: (worker_id) => ({ worker_id, max: 2 }),
};
const pending: Ask = { method: "GET", path: "/jobs/pending" };

test.each([
  { limit: "heartbeats", asks: [heartbeat] },
  { limit: "claims", asks: [claim, batch, pending] },
])("$limit beyond 2,000 a second are refused, and recorded once", async ({ limit, asks }) => {
  const workerId = await registerWorker(hub);
  const { token } = await issueToken(hub, { role: "worker", tenant_id: "acme", worker_id: workerId });
  const send = (ask: Ask, id = workerId, as = token) => {
    const query = ask.method === "GET" ? `?worker_id=${id}` : "";
    return hub.call(ask.method, `${ask.path}${query}`, { token: as, body: ask.body?.(id) });
  };
  const statuses = await Promise.all(
    Array.from({ length: perSecond }, async () => (await send(asks[0]!)).status),
  );
  expect(statuses.filter((status) => status === 429)).toEqual([]);

  for (const ask of [...asks, ...asks]) {
    expect(await send(ask)).toMatchObject({
      status: 429,
      code: "RATE_LIMITED",
      headers: { "retry-after": "1" },
    });
  }
  const hits = readEvents(hub.home).filter(
    ({ event, details }) => event === "RATE_LIMIT_HIT" && details["worker_id"] === workerId,
  );
  expect(hits).toMatchObject([
    {
      tenant_id: "acme",
      details: { limit, worker_id: workerId },
      origin: { ipAddress: "127.0.0.1", endpoint: asks[0]!.path, method: asks[0]!.method },
    },
  ]);

  const other = await registerWorker(hub);
  expect((await send(asks[0]!, other, hub.admin)).status).toBeLessThan(300);
});
