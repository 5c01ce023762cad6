import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { jobOutputDir, outputPath } from "../../src/output/folder/output-path.ts";
import { type RpcHub, readAll, refusalIn, startRpcHub, stubFor } from "../rpc/rpc-hub.ts";
import { editRows, readRows, tamperWith } from "../support/database.ts";
import { forgetSizes } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub } from "../support/hub.ts";
import { claimJob, type HeldJob, registerWorker, runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";

const MiB = 1024 ** 2;
let hub: RpcHub;

afterEach(() => hub?.stop().catch(() => {}));

describe("WRIT_MAX_STORAGE_BYTES", () => {
  test.each(["0", "1048575", "-1", "80%", "9007199254740992"])("refuses %s in one line", async (value) => {
    const home = mkdtempSync(join(tmpdir(), "writ-storage-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    await expect(startTestHub({ WRIT_MAX_STORAGE_BYTES: value }, { home })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: `WRIT_MAX_STORAGE_BYTES: "${value}" is not allowed; use a whole number from 1048576 to 9007199254740991`,
    });
  });

  test("is read from writ.yaml too", async () => {
    const home = mkdtempSync(join(tmpdir(), "writ-storage-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    writeFileSync(join(home, "writ.yaml"), "max_storage_bytes: 7\n");
    await expect(startTestHub({}, { home })).rejects.toThrow("max_storage_bytes: 7 is not allowed");
  });

  test("removes the output of finished jobs, oldest first, and of no other", async () => {
    hub = await startRpcHub({ WRIT_MAX_STORAGE_BYTES: String(8 * MiB) });
    const running = await runningJob(hub);
    await say(running, 3 * MiB);
    const first = await saidAndDone(2 * MiB);
    const second = await saidAndDone(1 * MiB);
    const third = await saidAndDone(1 * MiB);
    expect((await read(first)).bytes).toHaveLength(2 * MiB);
    await say(running, 3 * MiB, 3 * MiB);

    await eventually("the output of the first job is gone", () => !existsSync(filesOf(first)));
    // 10 MiB were kept and 7.6 may be: the second has to go too, and that is enough.
    await eventually("the output of the second job is gone", () => !existsSync(filesOf(second)));
    expect((await read(third)).bytes).toHaveLength(1 * MiB);
    expect((await read(running)).bytes).toHaveLength(6 * MiB);
    for (const query of ["", "?follow=true", "?attempt=1", "?offset=5"]) {
      expect(await read(first, "stdout", query), query).toMatchObject({
        status: 410,
        code: "OUTPUT_REMOVED",
        text: expect.stringContaining("2097152 bytes"),
      });
    }
    // Nothing was said there, so nothing is missing.
    expect(await read(first, "stderr")).toMatchObject({ status: 200, text: "" });

    const view = (await hub.must("GET", `/jobs/${first.id}`, { token: hub.admin })).json<JobView>();
    expect(view).toMatchObject({
      status: "completed",
      result: 1,
      output: { stdout: 2 * MiB, stderr: 0 },
    });
    const events = (await hub.must("GET", `/jobs/${first.id}/events`, { token: hub.admin })).json<
      { event: string; details: unknown }[]
    >();
    expect(events.at(-1)).toMatchObject({ event: "OUTPUT_REMOVED", details: { bytes: 2 * MiB } });

    const stub = stubFor(hub, hub.root);
    onTestFinished(() => stub.close());
    const refusal = await readAll(stub.stream({ job_id: first.id })).catch(refusalIn);
    expect(refusal).toMatchObject({ code: status.NOT_FOUND, writCode: "OUTPUT_REMOVED" });
    expect(await stub.call("GetStatus", { job_id: first.id })).toMatchObject({ state: "EXITED" });
  });

  test("the survey finds output that a killed hub had not recorded or not removed yet", async () => {
    hub = await startRpcHub({ WRIT_MAX_STORAGE_BYTES: String(4 * MiB) });
    const dropped = await saidAndDone(1 * MiB);
    const unnoted = await saidAndDone(1 * MiB);
    const { home } = hub;
    await hub.stop({ keepHome: true });
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    await tamperWith(home).dropOutput(dropped.id);
    forgetSizes(home, unnoted.id);
    editRows(home, "UPDATE tallies SET value = 0 WHERE name = 'output_bytes'");
    const stranger = outputPath(join(home, "outputs"), crypto.randomUUID(), 1, "stdout");
    mkdirSync(dirname(stranger), { recursive: true });
    writeFileSync(stranger, "of a job that the database does not know");

    hub = await startRpcHub({ WRIT_MAX_STORAGE_BYTES: String(4 * MiB) }, { home });
    await eventually("the files that were to go are gone", () => !existsSync(filesOf(dropped)));
    await eventually("the sizes are known again", () => {
      const [row] = readRows(home, "SELECT value FROM tallies WHERE name = 'output_bytes'");
      return row?.["value"] === 1 * MiB;
    });
    expect((await read(unnoted)).bytes).toHaveLength(1 * MiB);
    await eventually("the folder of no job is gone", () => !existsSync(dirname(dirname(stranger))));
    expect((await read(unnoted)).bytes).toHaveLength(1 * MiB);
  });

  test("the storage keeps the output of a later attempt when that of earlier ones is removed", async () => {
    hub = await startRpcHub({ WRIT_MAX_STORAGE_BYTES: String(1 * MiB) });
    const workerId = await registerWorker(hub);
    const first = await runningJob(hub, { workerId, max_attempts: 1 });
    await say(first, 2 * MiB);
    await hub.must("POST", `/jobs/${first.id}/fail`, {
      token: hub.admin,
      body: { ...first.fence, reason: "no" },
    });
    await eventually("the output is gone", () => !existsSync(filesOf(first)));
    await hub.must("POST", `/jobs/${first.id}/retry`, { token: hub.admin });
    const second = await claimJob(hub, { workerId, type: first.type });
    await say(second, 3 * MiB);
    expect(await read(first, "stdout", "?attempt=1")).toMatchObject({ status: 410 });
    expect((await read(second)).bytes).toHaveLength(3 * MiB);
    expect(readdirSync(filesOf(first))).toEqual(["2"]);
    const view = (await hub.must("GET", `/jobs/${first.id}`, { token: hub.admin })).json<JobView>();
    expect(view.output).toEqual({ stdout: 3 * MiB, stderr: 0 });
  });
});

async function say(job: HeldJob, bytes: number, offset = 0): Promise<void> {
  const answer = await appendOutput(hub, job, { offset, bytes: Buffer.alloc(bytes, "x") });
  expect(answer.status, answer.text).toBe(200);
}

async function saidAndDone(bytes: number): Promise<HeldJob> {
  const job = await runningJob(hub);
  await say(job, bytes);
  await hub.must("POST", `/jobs/${job.id}/result`, { token: hub.admin, body: { ...job.fence, result: 1 } });
  return job;
}

function read(job: HeldJob, stream = "stdout", query = "") {
  return hub.call("GET", `/jobs/${job.id}/output/${stream}${query}`, { token: hub.admin });
}

function filesOf(job: HeldJob): string {
  return jobOutputDir(join(hub.home, "outputs"), job.id);
}
