import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JobState, jobStates } from "../../src/core/jobs/job.ts";
import type { JobFilter } from "../../src/store/jobs/job-list.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { listJobIds } from "../../src/store/sqlite/reads/list-jobs.ts";
import { ReadContext } from "../../src/store/sqlite/reads/read-context.ts";
import { macKey, Scene } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

let scene: Scene;
let sql: Connection;

beforeAll(async () => {
  const under = sqliteUnderTest();
  scene = await Scene.open(under);
  for (const tenantId of ["acme", "other"]) {
    for (const userId of ["u1", "u2"]) await scene.submit({ tenantId, userId, type: "build" });
    await scene.cancel(await scene.submit({ tenantId, type: "build" }));
  }
  await scene.store.listJobs({ limit: 1 });
  sql = new Connection(under.path, 1_000, { isReader: true });
});

afterAll(async () => {
  sql.close();
  await scene.end();
});

const wholeId = "00000000-0000-7000-8000-000000000001";
const statusSets: (JobState[] | undefined)[] = [
  undefined,
  ...jobStates.map((state) => [state]),
  ["failed", "quarantined"],
  ["pending", "assigned", "running"],
  ["running", "failed"],
  ["completed", "failed"],
];

/** What decides about the statement. Everything else is a condition in one text, and is here or is not. */
const choices: { [Field in keyof JobFilter]?: JobFilter[Field][] } = {
  statuses: statusSets,
  tenantId: [undefined, "acme"],
  userId: [undefined, "u1"],
  failCode: [undefined, "TIMEOUT", "!CANCELLED"],
  idPart: [undefined, wholeId.slice(-9)],
  ids: [undefined, [wholeId]],
};
const times = { since: 1, until: 10 ** 15, before: 10 ** 9 };
const rest: JobFilter = { ...times, type: "build", workerId: "w", search: "word", limit: 50 };

function combinations(): JobFilter[] {
  return Object.entries(choices).reduce<JobFilter[]>(
    (filters, [field, values]) =>
      filters.flatMap((filter) => values.map((value) => ({ ...filter, [field]: value }))),
    [{ limit: 50 }, rest],
  );
}

/** Every statement that these filters lead to. */
function statementsOf(filters: JobFilter[]): Set<string> {
  const texts = new Set<string>();
  const watched = new Proxy(sql, {
    get:
      (_, name: keyof Connection) =>
      (text: string, ...values: never[]) => {
        if (name !== "define") texts.add(text);
        return (sql[name] as (text: string, ...values: never[]) => unknown).call(sql, text, ...values);
      },
  });
  for (const filter of filters) {
    const context = new ReadContext(watched, macKey);
    listJobIds(context, filter);
  }
  return texts;
}

function planOf(text: string): string[] {
  return sql.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map(({ detail }) => detail);
}

/** Jobs that are not in the order of seq: those that were named, and live ones if they are few. */
const sortedPaths = /INDEX (?:jobs_by_id|jobs_by_id_end|jobs_claimable|jobs_delayed|jobs_due)/;

describe("a list, whatever it is filtered by,", () => {
  it("sorts nothing but the ids that were given and live jobs, and reads no table without a bound", () => {
    const filters = combinations();
    expect(filters.length).toBeGreaterThan(1_000);
    const offences: string[] = [];
    for (const text of statementsOf(filters)) {
      const plan = planOf(text);
      const sorts = plan.some((line) => line.includes("TEMP B-TREE FOR ORDER BY"));
      if (sorts && !plan.some((line) => sortedPaths.test(line))) offences.push(`sorts: ${text}`);
      const isBounded = /ORDER BY seq (?:DESC )?LIMIT \?/.test(text);
      if (plan.some((line) => /^SCAN jobs\b/.test(line)) && !isBounded && !/LIMIT \?$/.test(text))
        offences.push(`reads everything: ${text}\n${plan.join("\n")}`);
    }
    expect(offences).toEqual([]);
  });

  it.each([
    [{ statuses: ["failed"] }, "jobs_unsuccessful (status=?"],
    [{ statuses: ["failed"], tenantId: "acme" }, "jobs_unsuccessful (status=?"],
    [{ failCode: "TIMEOUT" }, "jobs_unsuccessful (status=?"],
    [{ tenantId: "acme" }, "jobs_by_owner (owner=? AND seq"],
    [{ userId: "u1" }, "jobs_by_owner (owner=? AND seq"],
    [{ statuses: ["pending"] }, "jobs_claimable"],
    [{ ids: [wholeId] }, "jobs_by_id (id=?"],
  ] as [Partial<JobFilter>, string][])("of %j uses the index %s", (filter, index) => {
    const texts = [...statementsOf([{ ...filter, limit: 50 }])].filter((text) => text.includes("AS looked"));
    expect(texts).toHaveLength(1);
    expect(planOf(texts[0]!)).toContainEqual(expect.stringContaining(index));
  });
});
