import { expect, test } from "vitest";
import type { NewEvent } from "../../src/core/events.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { countEvents, searchAudit } from "../../src/store/sqlite/reads/audit-reads.ts";
import { ReadContext } from "../../src/store/sqlite/reads/read-context.ts";
import { readEvents } from "../../src/store/sqlite/reads/read-events.ts";
import { macKey, Scene, startMs } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";

const plain: NewEvent = {
  event: "JOB_CREATED",
  ts: startMs,
  tenantId: "busy",
  jobId: null,
  ownerId: null,
  details: {},
  origin: null,
};
const rare: NewEvent = { ...plain, event: "PERMISSION_DENIED", tenantId: "quiet" };

test("what is looked for in 100,000 events is found with few statements", async () => {
  const under = sqliteUnderTest({}, openWithoutThread);
  const scene = await Scene.open(under);
  for (let batch = 0; batch < 500; batch++) {
    const events = Array.from({ length: 200 }, () => plain);
    if (batch % 100 === 50) events[7] = rare;
    await scene.store.recordEvents({ events });
  }
  await scene.store.listJobs({ limit: 1 });
  const sql = new Connection(under.path, 5_000, { isReader: true });
  const context = new ReadContext(sql, macKey);
  const statements = countStatements(sql);
  const seqs = [10_008, 30_008, 50_008, 70_008, 90_008];

  const ofTenant = readEvents(context, { afterSeq: 0, limit: 99, tenantId: "quiet" });
  expect(ofTenant.map(({ seq }) => seq)).toEqual(seqs);
  expect(statements.take()).toBeLessThan(60);

  const ofKind = readEvents(context, {
    afterSeq: 40_000,
    limit: 99,
    kinds: ["PERMISSION_DENIED", "LOCKDOWN"],
  });
  expect(ofKind.map(({ seq }) => seq)).toEqual(seqs.slice(2));
  expect(statements.take()).toBeLessThan(60);

  const filter = { before: 100_001, window: 100_000, limit: 99 };
  for (const wanted of [
    { event: "PERMISSION_DENIED" as const },
    { tenantId: "quiet" },
    { severity: "MEDIUM" as const },
  ]) {
    const { records } = searchAudit(context, { ...filter, ...wanted });
    expect(records.map(({ seq }) => seq)).toEqual(seqs.toReversed());
    expect(statements.take()).toBeLessThan(100);
  }

  const counted = countEvents(context, { afterSeq: 0, throughSeq: 100_000, kinds: ["PERMISSION_DENIED"] });
  expect(counted).toMatchObject([{ tenantId: "quiet", count: 5 }]);
  expect(statements.take()).toBeLessThan(60);
  expect(readEvents(context, { afterSeq: 99_999, limit: 9 })).toHaveLength(1);
  expect(statements.take()).toBeLessThan(60);
  sql.close();

  const other = await scene.openAnother();
  expect(await other.pruneEvents({ throughSeq: 40_000, limit: 100_000 })).toEqual({ removed: 40_000 });
  expect(await other.eventRange()).toEqual({ first: 40_001, last: 100_000 });
  expect(await other.searchAudit({ ...filter, event: "PERMISSION_DENIED" })).toMatchObject({
    records: [{ seq: 90_008 }, { seq: 70_008 }, { seq: 50_008 }],
  });
  await scene.end();
});

/** How many statements were run since the last time. */
function countStatements(sql: Connection): { take(): number } {
  let count = 0;
  const { first, all } = { first: sql.first.bind(sql), all: sql.all.bind(sql) };
  sql.first = (text, ...values) => {
    count++;
    return first(text, ...values);
  };
  sql.all = (text, ...values) => {
    count++;
    return all(text, ...values);
  };
  return {
    take() {
      const taken = count;
      count = 0;
      return taken;
    },
  };
}
