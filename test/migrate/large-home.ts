import { createHash, randomFillSync } from "node:crypto";
import { join } from "node:path";
import { orderedUuids } from "../../src/core/ids.ts";
import { readMacKey } from "../../src/signing/key-files.ts";
import { emptySha256 } from "../../src/signing/receipt.ts";
import { receiptText } from "../../src/signing/receipt-text.ts";
import type { ActName } from "../../src/store/act-names.ts";
import { Database } from "../../src/store/sqlite/database/database.ts";
import { sqliteDriver } from "../../src/store/sqlite/sqlite-driver.ts";
import { commitGroup } from "../../src/store/sqlite/thread/group-commit.ts";
import type { ClaimedJob, ClaimOutcome, Store } from "../../src/store/store.ts";
import { failureOf, fenceOf, origin, resultOf, Scene } from "../store-contract/scene.ts";
import type { StoreUnderTest } from "../store-contract/under-test.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { putIntoRows } from "../support/rows/put-into-rows.ts";

const batch = 500;

/**
 * The home of a hub with this many jobs in rows, each with a document, a history and, if it has ended, a result and a receipt. One
 * in ten waits, and one in fifty has failed; the newest are held by a worker. Written by the store itself, without a hub in between, and
 * then put into rows.
 */
export async function makeLargeHome(jobs: number): Promise<string> {
  const hub = await startTestHub(stillEnv);
  await hub.stop({ keepHome: true });
  const settings = {
    path: join(hub.home, "writ.sqlite"),
    macKey: readMacKey(join(hub.home, "keys")),
    busyTimeoutMs: 0,
    failpointModule: null,
  };
  const database = new Database(sqliteDriver, settings, () => {});
  const commit = (act: ActName, input: unknown): unknown => {
    const [answer] = commitGroup(database, [{ id: 0, act, input }]).batch.answers;
    if (answer === undefined || "error" in answer) throw new Error(JSON.stringify(answer));
    return answer.value;
  };
  const scene = new Scene({} as StoreUnderTest, { onCommit: () => () => {} } as unknown as Store);
  for (let made = 0; made < jobs; made += batch) {
    const news = Array.from({ length: Math.min(batch, jobs - made) }, () => newJob(scene));
    commit("submitJobs", { jobs: news, maxPending: null, origin });
    const held = (commit("claimJobs", scene.claimInput(Math.ceil(news.length * 0.9))) as ClaimOutcome)
      .claimed;
    const ends = made + batch < jobs ? held : held.slice(20);
    commit("changeJobs", { changes: ends.map(ended), rules: scene.rules, origin });
  }
  database.close();
  await putIntoRows(hub.home);
  return hub.home;
}

const newId = orderedUuids(() => randomFillSync(new Uint8Array(16)));
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function newJob(scene: Scene) {
  const id = newId(Date.now());
  const document = `{"job_id":"${id}","params":{"text":"${"x".repeat(120)}"},"tenant_id":"acme","type":"build"}`;
  const idempotencyKey = `sha256:${sha256(id)}`;
  return {
    ...scene.newJob({ id, document, documentSha256: sha256(document), idempotencyKey }),
    isKeyChosen: false,
  };
}

function ended(each: ClaimedJob, index: number) {
  const fence = fenceOf(each);
  const jobId = each.job.id;
  if (index % 50 === 0) return { jobId, change: { ...failureOf("INVALID_JOB"), fence } };
  return { jobId, change: { ...resultOf('{"answer":42}'), fence, receipt: receiptFor(each) } };
}

function receiptFor({ job }: ClaimedJob): string {
  return receiptText({
    job_id: job.id,
    attempt: job.attempt,
    worker_id: job.workerId!,
    document_sha256: job.documentSha256,
    exit_code: null,
    result_sha256: sha256('{"answer":42}'),
    stdout_sha256: emptySha256,
    stderr_sha256: emptySha256,
    output_files: [],
    isolation: { level: "in-process", applied: [], missing: [] },
    usage: null,
    started_at: job.claimedAt!,
    ended_at: job.claimedAt!,
  });
}
