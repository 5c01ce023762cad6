/**
 * A worker inside your own program: a function of yours runs the jobs of one type.
 *
 *   npm start                                   (in one terminal)
 *   node examples/handler-worker.ts             (in another)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "writ/client";
import { Worker } from "writ/worker";

const writ = Writ.fromEnvironment(process.env);

// A token that is valid for this worker only, and only for an hour.
const workerId = `example-${process.pid}`;
const { id: tokenId, token } = await writ.createToken({
  role: "worker",
  worker_id: workerId,
  expires_in_sec: 3600,
});
const home = await mkdtemp(join(tmpdir(), "writ-example-"));

const tag = workerId;
const worker = new Worker({ hub: await writ.hubUrls(), token, workerId, home, tags: [tag], concurrency: 4 });
worker.handle("add", async (job, { progress }) => {
  const { a, b } = job.params as { a: number; b: number };
  progress(50, "adding");
  return { sum: a + b };
});
await worker.start();

// Jobs that are submitted together are sent to the hub as one batch. The tag keeps other workers from claiming them.
const jobs = await Promise.all(
  [1, 2, 3].map((a) => writ.submit({ type: "add", params: { a, b: 10 }, requires: { tags: [tag] } })),
);
for (const { id } of jobs) {
  await writ.wait(id, { timeoutMs: 60_000 });
  console.log(id, await writ.result(id));
}

await worker.stop();
await writ.revokeToken(tokenId);
await rm(home, { recursive: true });
writ.close();
