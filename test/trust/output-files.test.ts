import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReceiptView } from "../../src/contract/shapes/trust-view-shapes.ts";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { OutputFile } from "../../src/core/jobs/output-file.ts";
import { runnersOf } from "../../src/runners/create-runners.ts";
import type { RunContext, Runner, RunOutcome } from "../../src/runners/runner.ts";
import { verifyJobToken } from "../../src/signing/job-token.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { parseReceipt } from "../../src/signing/receipt-text.ts";
import { readEvents } from "../support/database.ts";
import { editOutputFiles } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { put } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { runCommand } from "../support/run-command.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";

const hub = hubForAll(stillEnv);
const type = freshName("files");
const output_location = { folder_id: "results", prefix: "runs/1" };
const report: OutputFile = {
  folder_id: "results",
  object_key: "runs/1/report.txt",
  sha256: sha256Hex("forty-two"),
  size: 9,
};
let worker: TestWorker;
let dir: string;

beforeAll(async () => {
  worker = await startTestWorker(hub, { types: [type], createRunners: (deps) => runnersOf(deps, [writer]) });
  dir = mkdtempSync(join(tmpdir(), "writ-output-files-"));
});
afterAll(async () => {
  await worker.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A runner that has put files into storage: those that the job's params list. */
const writer: Runner = {
  kind: "exec",
  isInProcess: () => false,
  async run(context) {
    await context.onStarted({ level: "none", applied: [], missing: [] });
    const { files, fails } = context.document.params as { files: OutputFile[]; fails?: boolean };
    for (const file of files) await upload(context, file);
    const resultJson = JSON.stringify(await tokenClaims(context));
    const outcome: RunOutcome = fails
      ? { kind: "failed", code: "EXECUTION_ERROR", reason: "it broke", partialResultJson: resultJson }
      : { kind: "succeeded", resultJson };
    return { ...outcome, outputFiles: files };
  },
};

/** Puts the text that the report has, if the policy lets it. */
async function upload(
  { jobToken, document }: RunContext,
  { folder_id, object_key, size, sha256 }: OutputFile,
) {
  const token = (await jobToken?.get()) ?? "";
  const path = `/docker/jobs/${document.job_id}/request-presigned-urls`;
  const body = [{ folderId: folder_id, objectKey: object_key, method: "PUT", size, sha256 }];
  const answer = await hub.call("POST", path, { token, body });
  if (answer.status !== 200) return;
  await put(hub, answer.json<{ urls: [{ url: string }] }>().urls[0], Buffer.from("forty-two"));
}

/** What the hub would read in the token that the runner has. */
async function tokenClaims({ jobToken }: RunContext) {
  const claimed = (await jobToken?.get()) ?? "";
  const fresh = (await jobToken?.renew()) ?? "";
  const ring = openKeyRing(join(hub.home, "keys"), { nowMs: Date.now() });
  return [claimed, fresh].map((token) => verifyJobToken(ring, token, Date.now()).policy);
}

async function readJob(id: string): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
}

async function ranJob(params: object): Promise<JobView> {
  const { id } = await submitJob(hub, { type, params, output_location, max_attempts: 1 });
  await eventually("the job to end", async () => (await readJob(id)).completed_at !== null);
  return readJob(id);
}

function verify(args: string[]) {
  return runCommand("jobctl", ["verify", ...args], { home: hub.home, cwd: dir });
}

test("files outside the job's policy are refused, and the attempt fails with that reason", async () => {
  const job = await ranJob({ files: [{ ...report, object_key: "others/report.txt" }] });
  expect(job).toMatchObject({ status: "failed", output_files: [] });
  expect(job.fail_history[0]?.reason).toContain("is not where this job may put files");
});

test.each([
  ["completed", false],
  ["failed", true],
])("files of an attempt that %s go from the runner to the receipt and to the job", async (status, fails) => {
  const job = await ranJob({ files: [report], fails });
  expect(job).toMatchObject({ status, output_files: [report] });
  const { receipt } = (
    await hub.must("GET", `/jobs/${job.id}/receipt`, { token: hub.admin })
  ).json<ReceiptView>();
  expect(parseReceipt(receipt).output_files).toEqual([report]);
  const policy = [{ folderId: "results", prefix: "runs/1", method: "PUT" }];
  expect(job.result ?? job.partial_result).toEqual([policy, policy]);
  const refused = readEvents(hub.home).filter(
    ({ job_id, event }) => job_id === job.id && event === "INVALID_SIGNATURE",
  );
  expect(refused).toEqual([]);
});

describe("jobctl verify", () => {
  let job: JobView;
  const copy = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return `${report.object_key}=${name}`;
  };
  beforeAll(async () => {
    job = await ranJob({ files: [report] });
  });

  test("finds a copy that does not match the receipt, and one that the receipt does not name", async () => {
    const wrong = await verify([job.id, "--artifact", copy("wrong.txt", "forty-three")]);
    expect(wrong).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("does not match the receipt"),
    });
    writeFileSync(join(dir, "x"), "");
    const unknown = await verify([job.id, "--artifact", "runs/1/other=x"]);
    expect(unknown).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("names no file runs/1/other"),
    });
  });

  test("says what is wrong with its arguments", async () => {
    expect(await verify([job.id, "--artifact", "report.txt"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("is not KEY=FILE"),
    });
    expect(await verify([job.id, "--artifact", "a=missing.txt"])).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining("missing.txt cannot be read (ENOENT)"),
    });
  });

  test("checks the list and copies of the files, online and in a bundle", async () => {
    const right = copy("right.txt", "forty-two");
    const online = await verify([job.id, "--artifact", right, "--export", "bundle.json"]);
    expect(online.stdout).toMatch(/ok +files +1, as in the receipt/);
    expect(online.stdout).toMatch(/ok +artifact +runs\/1\/report.txt matches the receipt/);
    expect(online.exitCode).toBe(0);
    const offline = await verify(["--bundle", "bundle.json", "--artifact", right]);
    expect(offline.stdout).toMatch(/unknown +files +not available; the receipt names 1/);
    expect(offline.stdout).toMatch(/ok +artifact/);
    expect(offline.exitCode).toBe(0);
  });

  test("finds a list that was edited in the database", async () => {
    const edited = await ranJob({ files: [report] });
    editOutputFiles(hub.home, edited.id, ["report", "other"]);
    const { exitCode, stdout } = await verify([edited.id]);
    expect(stdout).toMatch(/broken +files +do not match the receipt/);
    expect(exitCode).toBe(1);
  });
});
