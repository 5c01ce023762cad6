import { expect, test } from "vitest";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import type { FeedEvent } from "../hub/event-stream.ts";
import { patchRow } from "./patch-row.ts";

const row = {
  status: "quarantined",
  attempt: 2,
  attempts: 2,
  max_attempts: 2,
  created_at: 1_000,
  run_at: 1_000,
  claimed_at: 5_000,
} as JobSummary;
const event = (parts: Partial<FeedEvent>) =>
  ({ id: "j", type: "t", worker_id: null, priority: 5, seq: 9, ts: 90_000, ...parts }) as FeedEvent;

test("O-31 a retried job counts its attempts from zero and waits from the retry on", () => {
  const queued = patchRow(row, event({ status: "pending", attempt: 2 }));
  expect(queued).toMatchObject({ attempts: 0, run_at: 90_000, claimed_at: null });
  const claimed = patchRow(queued, event({ status: "assigned", attempt: 3, ts: 91_000 }));
  expect(claimed).toMatchObject({ attempts: 1, run_at: 90_000, claimed_at: 91_000 });
});

test("O-31 a retried job counts from zero even if only its claim was seen, and a row never shows more attempts than are allowed", () => {
  expect(patchRow(row, event({ status: "running", attempt: 3 }))).toMatchObject({ attempts: 1 });
  const waiting = { ...row, status: "pending" } as JobSummary;
  expect(patchRow(waiting, event({ status: "running", attempt: 5 }))).toMatchObject({ attempts: 2 });
});
