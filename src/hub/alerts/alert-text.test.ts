import { expect, test } from "vitest";
import { alertText } from "./alert-text.ts";

test("O-10 the alert for a refused claim says until when the worker is given no jobs", () => {
  const details = { worker_id: "w1", violation_type: "INVALID_SIGNATURE", paused_until: 1_763_200_000_000 };
  const event = {
    event: "INVALID_SIGNATURE",
    ts: 1,
    tenantId: null,
    jobId: null,
    userId: null,
    ipAddress: null,
    details,
  };
  const { body } = alertText({ ...event, level: "HIGH", count: 1, firstSeq: 1, lastSeq: 1 }, null);
  expect(body).toContain("worker id: w1\n");
  expect(body).toContain("worker is given no jobs until: 2025-11-15T09:46:40.000Z\n");
});
