import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { WhyView } from "../../src/contract/why-view.ts";
import { Worker } from "../../src/worker/index.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

test("a program that registers functions is given no commands, not even of its own types", async () => {
  const [workerId, type] = [freshName("sdk"), freshName("double")];
  const home = mkdtempSync(join(tmpdir(), "writ-sdk-"));
  const worker = new Worker({ url: hub.url, token: hub.admin, workerId, dataDir: home });
  await worker.handle(type, ({ params }) => 2 * (params as number)).start();
  try {
    const command = await submitJob(hub, { type, priority: 10 });
    const call = await submitJob(hub, { type, run: { kind: "handler", params: 21 } });
    const done = await eventually("the function is called", async () => {
      const job = await jobReader(hub)(call.id);
      return job.status === "completed" && job;
    });
    expect(done.result).toBe(42);
    expect((await jobReader(hub)(command.id)).status).toBe("pending");
    const { workers } = (
      await hub.must("GET", `/jobs/${command.id}/why`, { token: hub.admin })
    ).json<WhyView>();
    expect(workers).toContainEqual({ worker_id: workerId, fits: false, why: ["does not run exec jobs"] });
  } finally {
    await worker.stop();
    removeHome(home);
  }
});
