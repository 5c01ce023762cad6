import { expect, test } from "vitest";
import type { JobSummary } from "../../src/contract/shapes/view-shapes.ts";
import { stillEnv } from "../support/hub.ts";
import { failedJob, type HeldJob, jobReader, runningJob } from "../support/jobs.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const readJob = jobReader(hub);

const fail = (held: HeldJob, more: object) =>
  hub.must("POST", `/jobs/${held.id}/fail`, {
    token: hub.admin,
    body: { ...held.fence, reason: "exit code 3", code: "INVALID_JOB", ...more },
  });

const append = (held: HeldJob, stream: string, text: string) => {
  const { worker_id, attempt, token } = held.fence;
  return hub.must("POST", `/jobs/${held.id}/output/${stream}?offset=0`, {
    token: hub.admin,
    body: Buffer.from(text),
    headers: {
      "Content-Type": "application/octet-stream",
      "X-Worker-Id": worker_id,
      "X-Job-Attempt": String(attempt),
      "X-Lease-Token": token,
    },
  });
};

test("O-27 a failure of an attempt that wrote nothing has no last line", async () => {
  const { id } = await failedJob(hub);
  expect((await readJob(id)).fail_history[0]).not.toHaveProperty("last_line");
});

test("O-27 a failure has the last line of stderr, in the job and in lists: of output that came with its end", async () => {
  const held = await runningJob(hub);
  const stderr = Buffer.from("line one\nno such table: users\n").toString("base64");
  await fail(held, { small_output: { stdout: Buffer.from("fine\n").toString("base64"), stderr } });
  expect((await readJob(held.id)).fail_history[0]).toMatchObject({ last_line: "no such table: users" });
  const list = await hub.must("GET", `/jobs?ids=${held.id}`, { token: hub.admin });
  expect(list.json<JobSummary[]>()[0]!.last_failure).toMatchObject({ last_line: "no such table: users" });
});

test("O-27 and of output that came before", async () => {
  const held = await runningJob(hub);
  await append(held, "stderr", `${"x".repeat(9_000)}\ndisk full\n`);
  await fail(held, {});
  expect((await readJob(held.id)).fail_history[0]).toMatchObject({ last_line: "disk full" });
});
