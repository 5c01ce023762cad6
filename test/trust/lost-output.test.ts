import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestWorker } from "../support/worker.ts";

let hub: TestHub;
let home: string;
let id: string;
const type = freshName("lost");

/** A home that was restored from a backup, which does not contain `outputs/`. */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "writ-lost-"));
  hub = await startTestHub(stillEnv, { home });
  const worker = await startTestWorker(hub, { types: [type] });
  ({ id } = await submitJob(hub, { type, run: { kind: "exec", argv: ["echo", "hello"] } }));
  await eventually("the job to end", async () => (await readJob()).status === "completed");
  await worker.stop();
  await hub.stop({ keepHome: true });
  rmSync(join(home, "outputs"), { recursive: true });
  hub = await startTestHub(stillEnv, { home });
});
afterAll(async () => {
  await hub.stop({ keepHome: true });
  rmSync(home, { recursive: true, force: true });
});

test.each(["", "?follow=true", "?attempt=1", "?offset=2"])(
  "output that was not restored is refused and not answered as empty, with %j",
  async (query) => {
    const answer = await hub.call("GET", `/jobs/${id}/output/stdout${query}`, { token: hub.admin });
    expect(answer).toMatchObject({
      status: 410,
      code: "OUTPUT_REMOVED",
      text: expect.stringContaining("the 6 bytes that attempt 1 of job"),
    });
  },
);

test("a stream to which nothing was written has lost nothing", async () => {
  const answer = await hub.call("GET", `/jobs/${id}/output/stderr`, { token: hub.admin });
  expect(answer).toMatchObject({ status: 200, text: "" });
});

test("the job keeps the sizes of output that was not restored and says that it is not available", async () => {
  expect((await readJob()).output).toEqual({ stdout: 6, stderr: 0, removed: true });
  const ways: Record<string, string>[] = [{ WRIT_TOKEN: hub.admin }, { WRIT_USER: "root" }];
  for (const credential of ways) {
    const { stdout } = await runCli("jobctl", ["status", id], { env: { WRIT_HOME: home, ...credential } });
    expect(stdout).toMatch(/^output +stdout 6 bytes, stderr 0 bytes; no longer available$/m);
  }
});

test("jobctl stream and verify say that output that was not restored is not available", async () => {
  const streamed = await runCommand("jobctl", ["stream", id], { home });
  expect(streamed).toMatchObject({ exitCode: 4, stdout: "" });
  expect(streamed.stderr).toContain("they were not restored with it");
  const verified = await runCommand("jobctl", ["verify", id], { home });
  expect(verified.stdout).toMatch(/^unknown +stdout +not available; the receipt names SHA-256/m);
  expect(verified.stdout).toMatch(/^ok +stderr/m);
  expect(verified).toMatchObject({ exitCode: 0 });
  const complete = await runCommand("jobctl", ["verify", id, "--complete"], { home });
  expect(complete).toMatchObject({ exitCode: 1, stdout: verified.stdout });
});

async function readJob(): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
}
