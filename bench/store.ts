import { randomFillSync } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { orderedUuids } from "../src/core/ids.ts";
import { emptySha256 } from "../src/signing/receipt.ts";
import { receiptText } from "../src/signing/receipt-text.ts";
import type { ActName } from "../src/store/act-names.ts";
import { Database } from "../src/store/sqlite/database/database.ts";
import { sqliteDriver } from "../src/store/sqlite/sqlite-driver.ts";
import { commitGroup } from "../src/store/sqlite/thread/group-commit.ts";
import type { ClaimedJob, ClaimOutcome, Store } from "../src/store/store.ts";
import { fenceOf, macKey, origin, resultOf, Scene, sha256 } from "../test/store-contract/scene.ts";
import type { StoreUnderTest } from "../test/store-contract/under-test.ts";
import { figure, median } from "./_figures.ts";
import { readOptions } from "./_options.ts";

/**
 * The store of a SQLite file in this thread and without messages: submissions in groups of 16 and batches of 1,000, claims and ends
 * in batches of 50 and of 256. CPU time is that of the process for each job, with the commits. With the folder of another checkout,
 * its store is measured too, and the rounds of the two take turns. Why: ADR 0116.
 * Usage: npm run bench -- store [receipts] [FOLDER] [--jobs N] [--rounds N]   With receipts, every attempt ends with one.
 */
const options = readOptions();
const jobs = options.jobs ?? 8_000;
const hasReceipts = options.positionals.includes("receipts");
const newId = orderedUuids(() => randomFillSync(new Uint8Array(16)));

const other = options.positionals.find((word) => word.includes("/"));

/** The parts of a store that are measured; those of another checkout have the same names. */
type Parts = {
  Database: typeof Database;
  sqliteDriver: typeof sqliteDriver;
  commitGroup: typeof commitGroup;
};

type StoreCall = { act: ActName; input: unknown };
type Rival = {
  name: string;
  path: string;
  /** Commits these calls as one group. */
  commit(calls: StoreCall[]): unknown[];
  /** In the store, without what makes the calls. */
  spent: { cpuUs: number; ms: number };
  close(): void;
  found: Map<string, number[]>;
};

const folder = mkdtempSync(join(tmpdir(), "writ-bench-store-"));
const rivals = [rival("here", { Database, sqliteDriver, commitGroup })];
if (other !== undefined) rivals.push(rival("there", await partsIn(other)));
const scene = new Scene({} as StoreUnderTest, { onCommit: () => () => {} } as unknown as Store);
for (let round = 0; round <= options.rounds; round++)
  for (const each of round % 2 === 0 ? rivals : rivals.toReversed()) run(each, round > 0);
report();
for (const { name, path, close } of rivals) {
  close();
  figure(`disk for an ended job, ${name}`, statSync(path).size / ((options.rounds + 1) * 2 * jobs), "bytes");
}
rmSync(folder, { recursive: true, force: true });

async function partsIn(checkout: string): Promise<Parts> {
  const load = async (path: string): Promise<Partial<Parts>> =>
    import(pathToFileURL(join(resolve(checkout), "src/store/sqlite", path)).href);
  const parts = await Promise.all(
    ["database/database.ts", "sqlite-driver.ts", "thread/group-commit.ts"].map(load),
  );
  return Object.assign({}, ...parts) as Parts;
}

function rival(name: string, { Database, sqliteDriver, commitGroup }: Parts): Rival {
  const path = join(folder, `${name}.db`);
  const settings = { path, macKey, busyTimeoutMs: 0, failpointModule: null };
  const database = new Database(sqliteDriver, settings, () => {});
  const spent = { cpuUs: 0, ms: 0 };
  const commit = (calls: StoreCall[]) => {
    let requests = calls.map(({ act, input }, id) => ({ id, act, input }));
    const values: unknown[] = [];
    const [cpu, at] = [process.cpuUsage(), performance.now()];
    while (requests.length > 0) {
      const { batch, taken } = commitGroup(database, requests);
      for (const answer of batch.answers) {
        if ("error" in answer) throw new Error(JSON.stringify(answer.error));
        values.push(answer.value);
      }
      requests = requests.slice(taken);
    }
    const { user, system } = process.cpuUsage(cpu);
    spent.cpuUs += user + system;
    spent.ms += performance.now() - at;
    return values;
  };
  return { name, path, commit, spent, close: () => database.close(), found: new Map() };
}

function run(each: Rival, isCounted: boolean): void {
  const measured = (name: string, work: () => void) => {
    const before = { ...each.spent };
    work();
    if (!isCounted) return;
    note(each, `${name}: CPU of a job`, (each.spent.cpuUs - before.cpuUs) / jobs);
    note(each, `${name}: rate`, jobs / ((each.spent.ms - before.ms) / 1_000));
  };
  measured("submit in groups of 16", () => submit(each, 16, 1));
  measured("claim and end in batches of 50", () => drain(each, 50));
  measured("submit in batches of 1,000", () => submit(each, 1, 1_000));
  measured("claim and end in batches of 256", () => drain(each, 256));
}

function submit({ commit }: Rival, calls: number, batch: number): void {
  for (let sent = 0; sent < jobs; sent += calls * batch)
    commit(
      Array.from({ length: calls }, () => ({
        act: "submitJobs",
        input: {
          jobs: Array.from({ length: batch }, newJob),
          maxPending: null,
          origin,
        },
      })),
    );
}

/** As the hub makes it of a submission without a key. */
function newJob() {
  const id = newId(Date.now());
  const document = `{"job_id":"${id}","params":{"text":"${"x".repeat(120)}"},"tenant_id":"acme","type":"build"}`;
  const idempotencyKey = `sha256:${sha256(id)}`;
  return {
    ...scene.newJob({ id, document, documentSha256: sha256(document), idempotencyKey }),
    isKeyChosen: false,
  };
}

function drain({ commit }: Rival, batch: number): void {
  for (;;) {
    const [outcome] = commit([{ act: "claimJobs", input: scene.claimInput(batch) }]) as [ClaimOutcome];
    if (outcome.claimed.length === 0) return;
    commit([
      { act: "changeJobs", input: { changes: outcome.claimed.map(ended), rules: scene.rules, origin } },
    ]);
  }
}

function ended(each: ClaimedJob) {
  const receipt = hasReceipts ? receiptFor(each) : null;
  return { jobId: each.job.id, change: { ...resultOf("null"), fence: fenceOf(each), receipt } };
}

function receiptFor({ job }: ClaimedJob): string {
  const atMs = Date.now();
  return receiptText({
    job_id: job.id,
    attempt: job.attempt,
    worker_id: job.workerId!,
    document_sha256: job.documentSha256,
    exit_code: null,
    result_sha256: sha256("null"),
    stdout_sha256: emptySha256,
    stderr_sha256: emptySha256,
    output_files: [],
    isolation: { level: "in-process", applied: [], missing: [] },
    usage: null,
    started_at: atMs,
    ended_at: atMs,
  });
}

function note({ found }: Rival, name: string, value: number): void {
  found.set(name, [...(found.get(name) ?? []), value]);
}

function report(): void {
  const [here, there] = rivals as [Rival, Rival?];
  for (const [name, values] of here.found) {
    const unit = name.endsWith("rate") ? "jobs/s" : "µs";
    const before = there?.found.get(name);
    if (before === undefined) figure(name, median(values), unit);
    else {
      const ratio = median(before.map((value, index) => value / values[index]!));
      figure(name, median(values), unit, {
        there: Math.round(median(before) * 10) / 10,
        there_divided_by_here: Math.round(ratio * 100) / 100,
      });
    }
  }
}
