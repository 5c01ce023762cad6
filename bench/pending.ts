import { execFileSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { orderedUuids } from "../src/core/ids.ts";
import type { ActName } from "../src/store/act-names.ts";
import { Database } from "../src/store/sqlite/database/database.ts";
import { sqliteDriver } from "../src/store/sqlite/sqlite-driver.ts";
import { commitGroup } from "../src/store/sqlite/thread/group-commit.ts";
import type { ClaimOutcome, Store } from "../src/store/store.ts";
import { fenceOf, macKey, origin, resultOf, Scene, sha256 } from "../test/store-contract/scene.ts";
import type { StoreUnderTest } from "../test/store-contract/under-test.ts";
import { figure, median } from "./_figures.ts";
import { readOptions } from "./_options.ts";

/**
 * What the store of a SQLite file takes to claim and end jobs while few and while many wait, and how much memory it has then. Each
 * number of waiting jobs has a process of its own, and the rounds take turns. The store is opened again before it is measured, as after
 * a restart. Why: ADR 0116.
 * Usage: npm run bench -- pending [--jobs N] [--rounds N]   N jobs wait in the larger of the two (default: 1,000,000).
 */
const few = 1_000;
const batch = 1_000;
const claimsOf = 50;
/** As many are claimed in both, and put back by new submissions, so that the number that waits stays the same. */
const drained = 8_000;

type Found = { usOfAJob: number; openMs: number; rssBytes: number; heapBytes: number; fileBytes: number };

const options = readOptions();
const [role, count] = options.positionals;
if (role === "one") console.log(JSON.stringify(measure(Number(count))));
else compare(options.jobs ?? 1_000_000);

function compare(many: number): void {
  const found = new Map<number, Found[]>([
    [few, []],
    [many, []],
  ]);
  for (let round = 0; round < options.rounds; round++)
    for (const [waiting, values] of found) {
      const flags = ["--expose-gc", fileURLToPath(import.meta.url), "one", String(waiting)];
      values.push(JSON.parse(execFileSync(process.execPath, flags, { encoding: "utf8" })) as Found);
    }
  const of = (waiting: number, field: keyof Found) => median(found.get(waiting)!.map((each) => each[field]));
  for (const waiting of found.keys()) {
    const about = `${waiting.toLocaleString("en")} waiting jobs`;
    figure(`claim and end in batches of ${claimsOf}, ${about}: CPU of a job`, of(waiting, "usOfAJob"), "µs");
    figure(`memory of the process, ${about}`, of(waiting, "rssBytes") / 2 ** 20, "MiB");
    figure(`heap, ${about}`, of(waiting, "heapBytes") / 2 ** 20, "MiB");
    figure(`database file, ${about}`, of(waiting, "fileBytes") / 2 ** 20, "MiB");
    figure(`opening, ${about}`, of(waiting, "openMs"), "ms");
  }
  const ratios = found.get(many)!.map(({ usOfAJob }, round) => usOfAJob / found.get(few)![round]!.usOfAJob);
  figure("claims with many waiting jobs ÷ with few", Math.round(median(ratios) * 100) / 100, "");
}

function measure(waiting: number): Found {
  const folder = mkdtempSync(join(tmpdir(), "writ-bench-pending-"));
  const path = join(folder, "writ.sqlite");
  const open = () =>
    new Database(sqliteDriver, { path, macKey, busyTimeoutMs: 0, failpointModule: null }, () => {});
  let database = open();
  const commit = (act: ActName, input: unknown): unknown => {
    const [answer] = commitGroup(database, [{ id: 0, act, input }]).batch.answers;
    if (answer === undefined || "error" in answer) throw new Error(JSON.stringify(answer));
    return answer.value;
  };
  const scene = new Scene({} as StoreUnderTest, { onCommit: () => () => {} } as unknown as Store);
  const newId = orderedUuids(() => randomFillSync(new Uint8Array(16)));
  const submit = (jobs: number): void => {
    for (let made = 0; made < jobs; made += batch)
      commit("submitJobs", {
        jobs: Array.from({ length: batch }, () => newJob(scene, newId(Date.now()))),
        maxPending: null,
        origin,
      });
  };
  submit(waiting);
  database.close();
  const openedAt = performance.now();
  database = open();
  const openMs = performance.now() - openedAt;
  let us = 0;
  for (let ended = 0; ended < drained; ended += batch) {
    const before = process.cpuUsage();
    for (let claimed = 0; claimed < batch; claimed += claimsOf) {
      const outcome = commit("claimJobs", scene.claimInput(claimsOf)) as ClaimOutcome;
      if (outcome.claimed.length !== claimsOf) throw new Error("not enough jobs were claimed");
      const changes = outcome.claimed.map((each) => ({
        jobId: each.job.id,
        change: { ...resultOf("null"), fence: fenceOf(each), receipt: null },
      }));
      commit("changeJobs", { changes, rules: scene.rules, origin });
    }
    const { user, system } = process.cpuUsage(before);
    us += user + system;
    submit(batch);
  }
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const fileBytes = statSync(path).size;
  database.close();
  rmSync(folder, { recursive: true, force: true });
  return { usOfAJob: us / drained, openMs, rssBytes: rss, heapBytes: heapUsed, fileBytes };
}

function newJob(scene: Scene, id: string) {
  const document = `{"job_id":"${id}","params":{"text":"${"x".repeat(120)}"},"tenant_id":"acme","type":"build"}`;
  const idempotencyKey = `sha256:${sha256(id)}`;
  return {
    ...scene.newJob({ id, document, documentSha256: sha256(document), idempotencyKey }),
    isKeyChosen: false,
  };
}
