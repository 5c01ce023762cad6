import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { timeIn } from "../../src/store/frames/frame.ts";
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

async function runOne(secret: string): Promise<void> {
  const document = JSON.stringify({ secret: `params-${secret}` });
  const claimed = await scene.submitAndClaim({ document });
  await scene.change(claimed, {
    ...resultOf(JSON.stringify(`result-${secret}`)),
    receipt: `receipt-${secret}`,
  });
}

const prune = () => {
  const before = scene.nowMs + 1;
  return scene.store.pruneJobs({ endedBefore: before, quarantinedBefore: before, limit: 9, nowMs: before });
};

test("no byte of what retention has removed is left in the file, its free pages or its log", async () => {
  const small = "hidden-in-small";
  const large = `hidden-in-large-${"x".repeat(40_000)}`;
  for (const secret of [small, large]) await runOne(secret);
  await scene.store.listJobs({ limit: 1 });
  expect(await prune()).toHaveLength(2);
  expect(await scene.store.pruneReceipts({ before: scene.nowMs + 1, limit: 9 })).toEqual({ removed: 2 });
  // The log is emptied with the next rows that are written, while the store stays open.
  await scene.store.listJobs({ limit: 1 });
  const found = ["", "-wal"].filter((end) => readFileSync(`${under.path}${end}`).includes("hidden-in"));
  expect(found).toEqual([]);
});

test("of frames of which nothing is left, one MAC is kept, and the chain goes on", async () => {
  for (let count = 0; count < 20; count++) await runOne("x");
  const kept = await scene.submit({ priority: 1 });
  for (let count = 0; count < 20; count++) await runOne("y");
  while ((await prune()).length > 0);
  await scene.store.pruneReceipts({ before: scene.nowMs + 1, limit: 99 });
  const { last } = await scene.store.eventRange();
  await scene.store.pruneEvents({ throughSeq: last - 1, limit: 9_999 });
  await scene.store.listJobs({ limit: 1 });
  const heads = headsIn(under.path);
  expect(heads.length).toBeLessThan(8);
  expect(heads.filter((head) => head.length > 32).length).toBeLessThan(5);
  expect(timeIn(heads.at(-1)!)).toBe(scene.nowMs + 1);
  await scene.reopen();
  expect(await scene.store.eventRange()).toEqual({ first: last, last });
  expect((await scene.claimIds(1))[0]).toBe(kept);
});

function headsIn(path: string): Buffer[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare("SELECT head FROM frames ORDER BY number").all() as { head: Uint8Array }[];
  database.close();
  return rows.map(({ head }) => Buffer.from(head));
}
