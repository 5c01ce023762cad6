import { expect, test } from "vitest";
import type { Identity } from "../../core/identity.ts";
import { aJob } from "../../core/jobs/job.testing.ts";
import type { JobState } from "../../core/jobs/job.ts";
import type { ListedJob } from "../../store/jobs/job-list.ts";
import { showJobs } from "./show-jobs.ts";

const caller: Identity = { tokenId: "t", role: "admin", tenantId: null, userId: "ann", workerId: null };

function listed(state: JobState, changes: Partial<ListedJob> = {}): ListedJob {
  const document = JSON.stringify({ run: { kind: "exec", argv: ["true"] }, execution_location: "CLOUD" });
  const output = { throughAttempt: 0, sizes: { 1: { stdout: 3, stderr: 0 } } };
  return { job: aJob(state), cut: [], summary: null, document, output, damaged: [], ...changes };
}

test("jobs that still write and damaged jobs are left to callers with more than the database", () => {
  const left = [
    listed("assigned"),
    listed("running"),
    listed("completed", { damaged: ["result"] }),
    listed("completed", { document: "{" }),
  ];
  expect(showJobs(left, caller)).toEqual(left);
});

test("ended and waiting jobs are written as texts, neighbours as one text", () => {
  const running = listed("running");
  const shown = showJobs([listed("completed"), listed("pending"), running, listed("failed")], caller);
  expect(shown).toEqual([expect.any(String), running, expect.any(String)]);
  const [ended, waiting] = JSON.parse(`[${shown[0]}]`);
  expect(ended).toMatchObject({ id: "j1", status: "completed", result: 1, output: { stdout: 3, stderr: 0 } });
  expect(waiting).toMatchObject({ status: "pending", command: ["true"], output: { stdout: 0, stderr: 0 } });
});

test("output that was removed is named as such", () => {
  const output = { throughAttempt: 1, sizes: { 1: { stdout: 3, stderr: 0 } } };
  const [shown] = showJobs([listed("completed", { output })], caller);
  expect(JSON.parse(shown as string).output).toEqual({ stdout: 3, stderr: 0, removed: true });
});
