import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findBrokenSeals } from "../../src/store/postgres/reads/seal-reader.ts";
import { noPostgres, withClient } from "../support/postgres-cluster.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";
import { failureOf, macKey, resultOf, Scene } from "./scene.ts";

describe.skipIf(noPostgres !== undefined)("rows of PostgreSQL", () => {
  const under = postgresUnderTest();
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open(under);
  });
  afterEach(() => scene.end());

  const count = async (table: string): Promise<number> => {
    let found = -1;
    await withClient(await under.url(), async (client) => {
      found = Number((await client.query(`SELECT count(*) AS n FROM writ.${table}`)).rows[0].n);
    });
    return found;
  };

  it("a job whose row contradicts its last event is named by the check of all jobs, and no other", async () => {
    const failed = await scene.submitAndStart({ maxAttempts: 1 });
    await scene.change(failed, failureOf("EXECUTION_ERROR"));
    await scene.change(await scene.submitAndStart(), resultOf("1"));
    await scene.submit();
    const check = async () => findBrokenSeals(await under.url(), { macKey, most: 9, isCompared: true });
    expect(await check()).toMatchObject({ broken: [], contradicted: [], checked: 3 });
    await under.tamper.editEnd(failed.job.id, { status: "completed", failCode: null });
    expect(await check()).toMatchObject({ broken: [], contradicted: [failed.job.id] });
  });

  it("the counts of an owner go with the last of its jobs", async () => {
    const ids = [await scene.submit(), await scene.submit({ userId: "u2" })];
    await scene.cancel(ids[0]!);
    expect(await count("owner_counts")).toBe(2);
    const { nowMs } = scene;
    const input = { endedBefore: nowMs + 1, quarantinedBefore: nowMs + 1, limit: 10, nowMs };
    expect(await scene.store.pruneJobs(input)).toEqual([ids[0]]);
    expect(await count("owner_counts")).toBe(1);
  });

  it("the lanes of hubs that are gone for a day are removed by the next one, and no others", async () => {
    await scene.submit();
    const inUse = await count("lanes");
    await withClient(await under.url(), (client) =>
      client.query(
        `INSERT INTO writ.lanes (id, last_group, used_at)
          VALUES (gen_random_uuid(), 7, now() - interval '25 hours'), (gen_random_uuid(), 7, now() - interval '23 hours')`,
      ),
    );
    await scene.openAnother();
    expect(await count("lanes")).toBe(inUse + 1);
  });
});
