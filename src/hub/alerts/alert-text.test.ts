import { expect, test } from "vitest";
import { alertText, summaryText } from "./alert-text.ts";
import type { Alert } from "./hold-down.ts";

const hub = "box:/srv/writ";
const alert: Alert = {
  ...{ level: "HIGH", event: "INVALID_SIGNATURE", count: 1, firstSeq: 1, lastSeq: 1, firstTs: 1, ts: 1 },
  ...{ tenantId: null, jobId: null, userId: null, callerId: null, ipAddress: null, call: null, details: {} },
};

test("O-10 the alert for a refused claim says until when the worker is given no jobs", () => {
  const details = { worker_id: "w1", violation_type: "INVALID_SIGNATURE", paused_until: 1_763_200_000_000 };
  const { body } = alertText({ ...alert, details }, hub);
  expect(body).toContain("worker id: w1\n");
  expect(body).toContain("worker is given no jobs until: 2025-11-15T09:46:40.000Z\n");
});

test("the address in an alert is the user's, or is named with the worker that reported the user's job", () => {
  const ofUser = { ...alert, userId: "mallory", ipAddress: "10.0.0.7" };
  const called = alertText({ ...ofUser, callerId: "mallory" }, hub);
  expect(called.body).toContain("user: mallory\naddress: 10.0.0.7\n");
  const found = alertText({ ...ofUser, callerId: "builder-1" }, hub);
  expect(found.body).toContain("user: mallory\nreported by: builder-1 from 10.0.0.7\n");
  expect(found.body).not.toContain("address:");
  expect(JSON.parse(found.data)).toMatchObject({
    ...{ user_id: "mallory", caller_id: "builder-1", ip_address: "10.0.0.7" },
  });
});

test("several events are reported with the time of the first and of the last", () => {
  const [firstTs, ts] = [1_763_200_000_000, 1_763_200_060_000];
  const many = { count: 3, firstSeq: 4, lastSeq: 9, firstTs, ts };
  const times = "time: 2025-11-15T09:46:40.000Z to 2025-11-15T09:47:40.000Z";
  const summary = { ...many, tenantId: "acme", events: { INVALID_SIGNATURE: 3 } };
  for (const text of [alertText({ ...alert, ...many }, hub), summaryText(summary, hub)]) {
    expect(text.body).toContain(times);
    expect(JSON.parse(text.data)).toMatchObject({
      count: 3,
      first_seq: 4,
      last_seq: 9,
      first_ts: firstTs,
      ts,
    });
  }
});

test("the alert for a path attempt names the hub, the route and the field, and not the path", () => {
  const details = { fields: ["run.cwd"], paths: ["../../etc/shadow"] };
  const attempt = { ...alert, event: "PATH_TRAVERSAL_ATTEMPT", call: "POST /jobs", details };
  const { body, data } = alertText(attempt, "https://hub.example");
  expect(body).toContain("call: POST /jobs\nfield: run.cwd\n");
  expect(body).toContain("\nhub: https://hub.example\n");
  expect(body + data).not.toContain("shadow");
  expect(JSON.parse(data)).toMatchObject({ call: "POST /jobs", hub: "https://hub.example" });
});
