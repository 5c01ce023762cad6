import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { framedUnderTest } from "./framed-under-test.ts";
import { resultOf, Scene } from "./scene.ts";

let under: ReturnType<typeof framedUnderTest>;
let scene: Scene;

beforeEach(async () => {
  under = framedUnderTest();
  scene = await Scene.open(under);
});
afterEach(() => scene.end());

test("a damaged list stops claims from its frame and ends no job", async () => {
  const [one, two] = [scene.newJob(), scene.newJob()];
  await scene.submitAll([one, two]);
  const other = await scene.submit();
  await scene.store.listJobs({ limit: 1 });
  edit("UPDATE frames SET head = zeroblob(length(head)) WHERE number = 1");
  expect(await scene.claimUpTo(3)).toMatchObject({ claimed: [{ job: { id: other } }], refused: [] });
  for (const { id } of [one, two]) {
    expect((await scene.job(id)).status).toBe("pending");
    expect((await scene.store.getJob({ jobId: id }))!.damaged).toEqual(["document"]);
  }
  expect((await scene.store.getJob({ jobId: other }))!.damaged).toEqual([]);
});

test("damage of one line is a fault of one job of its frame", async () => {
  const jobs = [scene.newJob(), scene.newJob(), scene.newJob()];
  await scene.submitAll(jobs);
  await under.tamper.editInDocument(jobs[1]!.id, '"type"', '"tipe"');
  const { claimed, refused } = await scene.claimUpTo(3);
  expect(refused).toEqual([jobs[1]!.id]);
  expect(claimed.map(({ job }) => job.id)).toEqual([jobs[0]!.id, jobs[2]!.id]);
});

test("what was submitted is gone with its job, and the frame still matches its head", async () => {
  const kept = await scene.submitAndClaim();
  const gone = await scene.submitAndClaim({ document: '{"secret":"hidden-in-params"}' });
  await scene.change(gone, resultOf("1"));
  const before = scene.nowMs + 1;
  const pruned = await scene.store.pruneJobs({
    endedBefore: before,
    quarantinedBefore: 0,
    limit: 9,
    nowMs: before,
  });
  expect(pruned).toEqual([gone.job.id]);
  const database = new DatabaseSync(under.path);
  const found = database
    .prepare("SELECT count(*) AS n FROM payloads WHERE instr(bytes, 'hidden-in-params') > 0")
    .get();
  database.close();
  expect(found).toEqual({ n: 0 });
  expect((await scene.store.getJob({ jobId: kept.job.id }))!.damaged).toEqual([]);
  expect(await scene.eventNames(gone.job.id)).toEqual([
    "JOB_CREATED",
    "JOB_ASSIGNED",
    "JOB_COMPLETED",
    "JOB_REMOVED",
  ]);
});

function edit(statement: string): void {
  const database = new DatabaseSync(under.path);
  database.exec(statement);
  database.close();
}
