import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { plainWorker } from "../../src/core/queue-key.testing.ts";
import { buildDocument } from "../../src/hub/use-cases/jobs/build-document.ts";
import { sqliteUnderTest } from "../store-contract/sqlite-under-test.ts";
import { useScene } from "../store-contract/use-scene.ts";

const fixture = join(import.meta.dirname, "fixtures/store-437f1bc.sqlite.gz");

/** The workers and jobs in it are those of `old-store-entry.mjs`. */
const scene = useScene(() => {
  const under = sqliteUnderTest();
  writeFileSync(under.path, gunzipSync(readFileSync(fixture)));
  return under;
});

const able = {
  ...plainWorker,
  kinds: ["exec", "handler"],
  documentFormat: 1,
  tags: ["big", "gpu"],
  handlerTypes: ["greet"],
  sessions: ["tmux:one"],
};

test("jobs of a database of version 0.1 keep their seals and go to whoever fits", async () => {
  const first = await scene().claimUpTo(9, able);
  expect(first.refused).toEqual([]);
  expect(first.claimed.map(({ job }) => job.type)).toEqual(["plain", "greet", "picky"]);
  const second = await scene().claimUpTo(9, { kinds: ["solver"] });
  expect(second.refused).toEqual([]);
  expect(second.claimed.map(({ job }) => job.type)).toEqual(["solve"]);
});

test("C3: jobs of such a database keep to the retries of each class, and asked for their limits themselves", async () => {
  const job = await scene().job("00000000-0000-7000-8000-000000000003");
  expect(job).toMatchObject({ attemptsChosen: false, limitsDefaulted: null });
});

test("a job submitted now joins the queue of such a job", async () => {
  const queues = await scene().store.listQueues();
  const run = { kind: "exec" as const, argv: ["true"] };
  const requires = { tags: ["gpu", "big"], session: "tmux:one", cores: 2, ram_gb: 1.5 };
  const author = { tenantId: "acme", userId: "ada" };
  const job = buildDocument({ type: "picky", run, requires }, author, { jobId: scene().newId(), nowMs: 1 });
  const waiting = await scene().job("00000000-0000-7000-8000-000000000003");
  expect(job.queueKey).toBe(waiting.queueKey);
  expect(queues.map(({ type, pending }) => [type, pending])).toContainEqual(["picky", 1]);
});

test("workers of such a database run what version 0.1 can run, until they register again", async () => {
  const workers = await scene().store.listWorkers();
  expect(workers.map(({ id, facts }) => [id, facts])).toEqual([
    ["with-session", able],
    ["without", { ...able, sessions: [] }],
  ]);
});
