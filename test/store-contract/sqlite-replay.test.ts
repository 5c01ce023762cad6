import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { ClaimedJob, Store } from "../../src/store/store.ts";
import { failureOf, macKey, resultOf, Scene } from "./scene.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";
import { openWithoutThread } from "./sqlite-without-thread.ts";

test("a store that is opened after any frame is in the state of the one that wrote it", async () => {
  const under = sqliteUnderTest({}, openWithoutThread);
  const scene = await Scene.open(under);
  let heldBack = 0;
  const compare = async () => {
    const copy = copyOf(under.path);
    heldBack += framesWithoutRows(copy.path);
    const reopened = await openWithoutThread({ path: copy.path, macKey });
    expect(await stateOf(reopened, ids)).toEqual(await stateOf(scene.store, ids));
    await reopened.close();
    copy.remove();
  };
  const ids: string[] = [];
  const claims: ClaimedJob[] = [];
  const submit = async (parts = {}) => ids.push(await scene.submit(parts));
  const claim = async (max: number) => claims.push(...(await scene.claimUpTo(max)).claimed);
  const steps: (() => Promise<unknown>)[] = [
    () => scene.register(),
    () => submit(),
    () => submit({ tenantId: "other", idempotencyKey: "k", requestHash: "a" }),
    () => submit({ runAt: scene.nowMs + 10_000, queueTtlSec: 60 }),
    () => claim(2),
    () => scene.change(claims[0]!, { act: "start", isolation: "{}" }),
    () => scene.change(claims[0]!, { act: "progress", progress: "half" }),
    () => scene.change(claims[0]!, { ...resultOf('{"a":1}'), receipt: "signed" }),
    () => scene.change(claims[1]!, failureOf("TIMEOUT")),
    () => submit({ priority: 9, terms: '{"labels":["nightly"]}' }),
    () => scene.store.recordEvents({ events: [] }),
    () => claim(1),
    () => scene.cancel(ids[0]!),
    () => scene.cancel(claims[2]!.job.id),
    () => submit(),
  ];
  for (const step of steps) {
    await step();
    await compare();
  }
  expect(heldBack).toBeGreaterThan(5);
  await scene.end();
});

/** As the disk would be after a crash. Why: ADR 0116. */
function copyOf(path: string): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "writ-framed-copy-"));
  cpSync(dirname(path), folder, { recursive: true });
  return { path: join(folder, "writ.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function framesWithoutRows(path: string): number {
  const database = new DatabaseSync(path);
  const row = database
    .prepare(
      "SELECT coalesce(max(number), 0) - coalesce((SELECT value FROM tallies WHERE name = 'flushed_frame'), 0) AS n FROM frames",
    )
    .get()!;
  database.close();
  return Number(row["n"]);
}

/** What can be asked without making the store write its rows. */
async function stateOf(store: Store, ids: readonly string[]): Promise<unknown> {
  return {
    jobs: await Promise.all(ids.map((jobId) => store.getJob({ jobId }))),
    usages: await store.listQuotas(),
    counts: (await store.ping()).jobs,
    events: await store.eventRange(),
    worker: await store.getWorker({ workerId: "w1" }),
    database: await store.getDatabase(),
  };
}
