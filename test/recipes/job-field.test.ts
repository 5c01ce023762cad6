import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { noPostgres } from "../support/postgres-cluster.ts";
import { CheckoutCopy } from "./checkout-copy.ts";
import { readRecipe } from "./read-recipe.ts";

const copy = new CheckoutCopy(["src", "test", "package.json", "tsconfig.json", "vitest.config.ts"]);
afterAll(() => copy.remove());

const [field, initial, column, listed, value, sqlite, postgres, set, shape, shown, ...narrow] =
  readRecipe("job-field");

const checkTypes = () =>
  copy.checkTypes("src/store/sqlite/acts.ts", "src/store/postgres/open-store.ts", "src/hub/http/app.ts");

/** Adds a step to the schema of a driver: its file has the next number. */
function migrate(folder: string, sql: string): void {
  const last = readdirSync(join(copy.dir, folder)).sort().at(-1)!;
  copy.write(`${folder}/${String(Number.parseInt(last, 10) + 1).padStart(3, "0")}-retried-at.sql`, sql);
}

test("with the field alone, the type checker asks for its column and its value in a row", async () => {
  const job = "src/core/jobs/job.ts";
  copy.edit(job, "  /** SHA-256 of the token", `${field}  /** SHA-256 of the token`);
  copy.edit(job, "    leaseTokenHash: null,\n", `${initial}    leaseTokenHash: null,\n`);
  const complaints = await checkTypes();
  expect(complaints).toMatch(/^src\/store\/jobs\/job-columns\.ts.*retriedAt/m);
  expect(complaints).toMatch(/^src\/store\/jobs\/stored-record\.ts.*retriedAt/m);
});

test("with the other steps it is content, and a handful of files has changed", async () => {
  const columns = "src/store/jobs/job-columns.ts";
  copy.edit(columns, '  heldAt: "held_at",\n', `  heldAt: "held_at",\n${column}`);
  copy.edit(columns, '  "exitCode",\n', `  "exitCode",\n${listed}`);
  copy.edit("src/store/jobs/stored-record.ts", /(?<=heldAt: row\[\d+\]!,\n)/, value!);
  migrate("src/store/sqlite/database/migrations", sqlite!);
  migrate("src/store/postgres/database/migrations", postgres!);
  copy.edit("src/core/jobs/job-acts.ts", "      releases: 0,\n", `      releases: 0,\n${set}`);
  const view = "  cancel_requested_at: timeOrNull,\n";
  copy.edit("src/contract/shapes/view-shapes.ts", view, `${view}${shape}`);
  copy.edit("src/hub/views/job-view.ts", "    execution_time_ms:", `${shown}    execution_time_ms:`);
  const [named, written, isRare, read] = narrow;
  const entry = "src/store/sqlite/jobs/job-entry.ts";
  copy.edit(entry, '  "held_at",\n', `  "held_at",\n${named}`);
  copy.edit(entry, "    job.heldAt,\n", `    job.heldAt,\n${written}`);
  copy.edit(entry, "    job.heldAt === null &&\n", `    job.heldAt === null &&\n${isRare}`);
  const last = "    heldAt: values[indexOf.held_at] ?? null,\n";
  copy.edit("src/store/sqlite/jobs/read-row.ts", last, `${last}${read}`);
  expect(await checkTypes()).toBe("");
  expect([...copy.touched].filter((path) => path !== "tsconfig.json").length).toBe(10);
});

const suites = ["sqlite", ...(noPostgres === undefined ? ["postgres"] : [])];

test.each(suites)("the driver for %s keeps it", async (driver) => {
  const file = `test/store-contract/retried-at-${driver}.test.ts`;
  copy.write(file, suiteFor(driver));
  const answers = await copy.runTests(file);
  expect(answers.map(({ words }) => words)).toEqual([""]);
  expect(answers.map(({ passed }) => passed)).toEqual([true]);
});

const suiteFor = (driver: string) => `
import { expect, it } from "vitest";
import { ${driver}UnderTest } from "./${driver}-under-test.ts";
import { useScene } from "./use-scene.ts";

const scene = useScene(() => ${driver}UnderTest());

it("keeps when a job was retried", async () => {
  const jobId = await scene().submit();
  expect((await scene().store.getJob({ jobId }))!.job.retriedAt).toBeNull();
  await scene().changeJob(jobId, { act: "cancel" });
  scene().nowMs += 5;
  await scene().changeJob(jobId, { act: "retry" });
  await scene().reopen();
  expect((await scene().store.getJob({ jobId }))!.job.retriedAt).toBe(scene().nowMs);
  expect((await scene().claim()).job.id).toBe(jobId);
});
`;

test("callers see it", async () => {
  const answers = await copy.run(`
    import { startMemoryHub } from "./test/support/memory-hub.ts";
    const hub = await startMemoryHub();
    const token = hub.admin;
    const { id } = (await hub.call("POST", "/jobs", { token, body: { type: "a" } })).json();
    const before = (await hub.call("GET", "/jobs/" + id, { token })).json();
    await hub.call("DELETE", "/jobs/" + id, { token });
    await hub.call("POST", "/jobs/" + id + "/retry", { token });
    const after = (await hub.call("GET", "/jobs/" + id, { token })).json();
    await hub.stop();
    console.log(JSON.stringify({ before: before.retried_at, isSeen: after.retried_at === after.run_at }));
  `);
  expect(answers).toEqual({ before: null, isSeen: true });
});
