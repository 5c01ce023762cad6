import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lastSeq, readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { type Middleman, startMiddleman } from "../support/middleman.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";

const hub = hubForAll(stillEnv);
const view = jobReader(hub);
const type = freshName("leased");
let middleman: Middleman;
let worker: TestWorker;
let marks: string;

beforeAll(async () => {
  middleman = await startMiddleman(hub.port, { oneLease: true });
  worker = await startTestWorker(hub, { url: middleman.url, types: [type] });
  marks = mkdtempSync(join(tmpdir(), "writ-lease-marks-"));
});

afterAll(async () => {
  await worker.stop();
  await middleman.stop();
  rmSync(marks, { recursive: true, force: true });
});

async function markingJob(): Promise<{ id: string; mark: string }> {
  const mark = join(marks, freshName("mark"));
  const { id } = await submitJob(hub, { type, run: { kind: "exec", argv: ["touch", mark] } });
  return { id, mark };
}

test.each<[string, (text: string) => string, number]>([
  ["attempt", (text) => text.replace('"jobs":[[1,', '"jobs":[[2,'), 0],
  ["timeout", (text) => text.replace(/"jobs":\[\[1,\d+,/, '"jobs":[[1,7,'), 1],
  ["document", (text) => text.replace('"touch"', '"uouch"'), 1],
  ["end", (text) => text.replace(/"expires_at_ts":\d/, '"expires_at_ts":9'), 1],
  ["process", (text) => text.replace(/"boot_id":"./, '"boot_id":"_'), 1],
  ["secret", (text) => text.replace(/"secret":"../, '"secret":"__'), 0],
  ["signature", (text) => text.replace(/"signature":"base64:../, '"signature":"base64:__'), 1],
])("a worker does not run a batch whose %s was altered, and reports it", async (_, alter, returned) => {
  const seq = lastSeq(hub.home);
  let wasAltered = false;
  middleman.onLease = (text) => {
    const altered = alter(text);
    wasAltered = altered !== text;
    return altered;
  };
  const { id, mark } = await markingJob();
  const report = await eventually("the report of the worker", () =>
    readEvents(hub.home, seq).find(({ details }) => details["violation_type"] === "INVALID_SIGNATURE"),
  );
  // A job whose attempt or token was altered on the way cannot be named to the hub: its lease expires.
  expect(report.details).toMatchObject({ worker_id: worker.workerId, returned });
  expect([wasAltered, existsSync(mark)]).toEqual([true, false]);
  expect(await view(id)).toMatchObject({ attempts: returned === 1 ? 0 : 1, fail_code: null });
  await hub.must("DELETE", `/jobs/${id}`, { token: hub.admin });
  await hub.must("POST", `/workers/${worker.workerId}/unblock`, { token: hub.admin, body: {} });
});

test("a batch that is delivered twice is run once, and one that was not altered is run", async () => {
  let first = "";
  middleman.onLease = (text) => {
    first = text;
    return text;
  };
  const { id, mark } = await markingJob();
  await eventually("the job to run", async () => (await view(id)).status === "completed");
  rmSync(mark);
  const seq = lastSeq(hub.home);
  middleman.onLease = () => first;
  const other = await markingJob();
  await eventually("the report of the replay", () =>
    readEvents(hub.home, seq).find(({ details }) => details["violation_type"] === "REPLAY"),
  );
  expect(await view(id)).toMatchObject({ status: "completed", attempt: 1 });
  expect([existsSync(mark), existsSync(other.mark)]).toEqual([false, false]);
});
