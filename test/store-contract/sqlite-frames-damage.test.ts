import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { resultOf, Scene } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";

let under: ReturnType<typeof sqliteUnderTest>;
let scene: Scene;

beforeEach(async () => {
  under = sqliteUnderTest({}, openWithoutThread);
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

test("a damaged list is one incident, however many jobs wait, and is recorded once", async () => {
  await scene.submitAll([scene.newJob(), scene.newJob(), scene.newJob()]);
  await scene.store.listJobs({ limit: 1 });
  edit("UPDATE frames SET head = zeroblob(length(head)) WHERE number = 1");
  for (const again of [false, true]) {
    if (again) await scene.reopen();
    expect((await scene.claimUpTo(3)).claimed).toEqual([]);
    expect(await scene.store.readEvents({ afterSeq: 3, limit: 9 })).toMatchObject([
      { event: "SECURITY_VIOLATION", details: { violation_type: "FRAME_DAMAGED", frame: 1 } },
    ]);
  }
  const { records } = await scene.store.searchAudit({ before: 99, window: 99, limit: 9, severity: "HIGH" });
  expect(records).toHaveLength(1);
});

const setBack = "status = 0, ready = 1, due_at = NULL, completed_at = NULL";
const rowEdits: [string, string][] = [
  ["a finished job is pending", setBack],
  ["a finished job is new", `${setBack}, attempt = 0, attempts = 0`],
  ["a finished job is new, with its first event as the last", `${setBack}, attempt = 0, event_count = 1`],
  ["its events are those of another frame", `${setBack}, event_frames = '1'`],
  ["it has no events", `${setBack}, event_frames = '99'`],
];

test.each(rowEdits)("a read that compares notices when a row says that %s", async (_, values) => {
  const claimed = await scene.submitAndClaim();
  await scene.change(claimed, resultOf("1"));
  await scene.store.listJobs({ limit: 1 });
  edit(`UPDATE jobs SET ${values} WHERE seq = 1`);
  await scene.reopen();
  const { damaged } = (await scene.store.getJob({ jobId: claimed.job.id, isCompared: true }))!;
  expect(damaged).toContain("state");
});

test.each(rowEdits)("it is noticed by a claim when a row says that %s", async (_, values) => {
  await scene.submit();
  const { claimed } = await scene.claimUpTo(1);
  await scene.change(claimed[0]!, resultOf("1"));
  const other = await scene.submit();
  await scene.store.listJobs({ limit: 1 });
  edit(`UPDATE jobs SET ${values} WHERE seq = 1`);
  await scene.reopen();
  expect((await scene.claimUpTo(2)).claimed.map(({ job }) => job.id)).toEqual([other]);
  expect((await scene.job(claimed[0]!.job.id)).status).not.toBe("assigned");
});

test.each([
  ["id", "randomblob(16)"],
  ["queue_id", "(SELECT id FROM queues WHERE id <> queue_id)"],
  ["owner", "(SELECT number FROM owners WHERE number <> owner)"],
  ["priority", "9"],
  ["frame", "2"],
  ["place", "1"],
  ["event_count", "2"],
  ["event_frames", "'2'"],
])("a row whose %s was edited is not leased", async (column, value) => {
  const second = scene.newJob({ id: scene.newId() });
  await scene.submitAll([scene.newJob({ id: "00000000-0000-7000-8000-00000000aaaa" }), second]);
  const third = await scene.submit({ tenantId: "other", type: "deploy" });
  await scene.store.listJobs({ limit: 1 });
  edit(`UPDATE jobs SET ${column} = ${value} WHERE seq = 1`);
  await scene.reopen();
  expect((await scene.claimIds(3)).toSorted()).toEqual([second.id, third]);
});

test("a fence that was set back is noticed", async () => {
  const claimed = await scene.submitAndClaim();
  await scene.change(claimed, { act: "release", reason: "drained" });
  scene.nowMs += 60_000;
  await scene.store.promoteJobs({ nowMs: scene.nowMs, limit: 9 });
  await scene.store.listJobs({ limit: 1 });
  edit("UPDATE jobs SET attempt = 0");
  await scene.reopen();
  expect((await scene.claimUpTo(1)).claimed).toEqual([]);
});

function edit(statement: string): void {
  const database = new DatabaseSync(under.path);
  database.exec(statement);
  database.close();
}
