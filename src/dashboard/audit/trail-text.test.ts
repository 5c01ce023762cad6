import { expect, test } from "vitest";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import { trailText } from "./trail-text.ts";

const record: AuditView = {
  ...{ seq: 1, event: "", timestamp: "2026-01-31T08:00:00.000Z", severity: "LOW", tenant_id: null },
  ...{ user_id: "ops", ip_address: null, user_agent: null, job_id: null, job_seq: null, owner_id: null },
  ...{ details: {}, context: { endpoint: null, method: null }, prev_hash: "", hash: "" },
};
const text = (event: string, details: Record<string, unknown>) => trailText({ ...record, event, details });

test("the text says whether a worker left or a person removed it", () => {
  expect(text("WORKER_DEREGISTERED", { worker_id: "w1", by: "worker" })).toBe("Worker w1 left");
  expect(text("WORKER_DEREGISTERED", { worker_id: "w1", by: "person" })).toBe("Removed worker w1");
});

test("the text names the path that was refused", () => {
  const details = { paths: ["/../etc"], error: "repo_root: must stay below its root" };
  expect(text("PATH_TRAVERSAL_ATTEMPT", details)).toBe("Was refused /../etc, which leaves its root");
});
