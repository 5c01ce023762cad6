/**
 * A worker inside your own program: a function of yours runs the jobs of one type.
 *
 *   npm start                                           (in one terminal)
 *   node_modules/.writ/node examples/handler-worker.ts  (in another)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineJob, JobFailure, Writ } from "writ/client";
import { Worker } from "writ/worker";

// Both sides use this definition: the compiler checks what is submitted and what the handler returns. Give a schema (zod
// or any other Standard Schema) as the second argument to have the values checked when the program runs, too.
const add = defineJob<{ a: number; b: number }, { sum: number }>("add");

const writ = Writ.fromEnvironment(process.env);

// A token that is valid for this worker only, and only for an hour.
const workerId = `example-${process.pid}`;
const { id: tokenId, token } = await writ.createToken({
  role: "worker",
  workerId,
  expiresInSec: 3600,
});
const dataDir = await mkdtemp(join(tmpdir(), "writ-example-"));

const tag = workerId;
const url = await writ.hubUrls();
const worker = new Worker({ url, token, workerId, dataDir, tags: [tag], concurrency: 4 });
worker.handle(add, async (job, { progress }) => {
  const { a, b } = job.params;
  if (a > 2) throw Object.assign(new Error(`${a} is more than I can add`), { code: "INVALID_JOB" });
  progress(50, "adding");
  return { sum: a + b };
});
await worker.start();

// Jobs that are submitted together are sent to the hub as one batch. The tag keeps other workers from claiming them.
const submit = { requires: { tags: [tag] } };
await Promise.all(
  [1, 2, 3].map(async (a) => {
    try {
      const { sum } = await writ.run(add, { a, b: 10 }, { submit, timeoutMs: 60_000 });
      console.log(`${a} + 10 = ${sum}`);
    } catch (error) {
      if (!(error instanceof JobFailure)) throw error;
      console.log(`${a} + 10: ${error.job.fail_code}, ${error.job.fail_history.at(-1)?.reason}`);
    }
  }),
);

await worker.stop();
await writ.revokeToken(tokenId);
await rm(dataDir, { recursive: true });
writ.close();
