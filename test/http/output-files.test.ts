import { describe, expect, test } from "vitest";
import type { OutputFile } from "../../src/core/jobs/output-file.ts";
import { errorOf } from "../support/call-http.ts";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { uploadForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { type HeldJob, jobReader, runningJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

const output_location = { folder_id: "results", prefix: "runs/1/" };
const file: OutputFile = {
  folder_id: "results",
  object_key: "runs/1/a.txt",
  sha256: "a".repeat(64),
  size: 3,
};

function report(job: HeldJob, output_files: unknown, act: "result" | "fail" = "result") {
  const said = act === "result" ? { result: 1 } : { reason: "it broke" };
  const body = { ...job.fence, ...said, output_files };
  return hub.call("POST", `/jobs/${job.id}/${act}`, { token: tokens.worker, body });
}

describe("an end is refused, and changes nothing, when its files", () => {
  const cases: [string, unknown, string, string][] = [
    ["have no hash", [{ ...file, sha256: undefined }], "output_files[0].sha256", "must be"],
    ["have a hash that is none", [{ ...file, sha256: "G".repeat(64) }], "output_files[0].sha256", "64 hex"],
    ["have no size", [{ ...file, size: undefined }], "output_files[0].size", "must be a whole number"],
    ["are smaller than nothing", [{ ...file, size: -1 }], "output_files[0].size", "must be a whole number"],
    [
      "have a folder that climbs",
      [{ ...file, folder_id: ".." }],
      "output_files[0].folder_id",
      "begin with a dot",
    ],
    [
      "have a key that climbs",
      [{ ...file, object_key: "runs/1/../2" }],
      "output_files[0].object_key",
      "must not contain . or ..",
    ],
    [
      "have a key from the root",
      [{ ...file, object_key: "/etc/passwd" }],
      "output_files[0].object_key",
      "must not start with /",
    ],
    [
      "are folders",
      [{ ...file, object_key: "runs/1/" }],
      "output_files[0].object_key",
      "must not end with /",
    ],
    ["say more than they should", [{ ...file, url: "https://x" }], "output_files[0].url", ""],
    ["are named twice", [file, { ...file, size: 4 }], "output_files[1].object_key", "twice"],
    [
      "are elsewhere",
      [file, { ...file, object_key: "runs/10/a" }],
      "output_files[1].object_key",
      "is not where this job may put files",
    ],
    [
      "are in another folder",
      [{ ...file, folder_id: "secrets" }],
      "output_files[0].object_key",
      "is not where this job may put files",
    ],
  ];

  test.each(cases)("%s", async (_, files, path, message) => {
    const job = await runningJob(hub, { output_location });
    const before = snapshot(hub.home);
    for (const act of ["result", "fail"] as const) {
      const answer = await report(job, files, act);
      expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
      const issues = errorOf(answer.text).details as { issues: { path: string; message: string }[] };
      expect(issues.issues[0]).toMatchObject({ path, message: expect.stringContaining(message) });
    }
    expect(snapshot(hub.home)).toBe(before);
  });

  test("are those of a job that has nowhere to put them", async () => {
    const job = await runningJob(hub);
    const answer = await report(job, [file]);
    expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(answer.text).toContain("no output_location");
    expect(await report(job, [])).toMatchObject({ status: 200 });
  });

  test("are of an attempt that does not count, without a hint where they may be", async () => {
    const job = await runningJob(hub, { output_location });
    const stale = { ...job, fence: { ...job.fence, token: "another-token-00" } };
    expect(await report(stale, [{ ...file, folder_id: "secrets" }])).toMatchObject({
      status: 409,
      code: "LEASE_LOST",
    });
  });
});

/** Uploads a file of this job, and gives what is reported about it. */
function upload(job: HeldJob, objectKey: string, text = objectKey): Promise<OutputFile> {
  return uploadForJob(hub, job, { folderId: "results", objectKey, bytes: Buffer.from(text) });
}

describe("F-50: an end is refused, and changes nothing, when a file", () => {
  const cases: [string, (stored: OutputFile) => OutputFile[], string][] = [
    ["has not arrived", (stored) => [stored, { ...stored, object_key: "runs/1/never" }], "missing"],
    ["has another size", (stored) => [{ ...stored, size: stored.size + 1 }], "size"],
    ["has another hash", (stored) => [{ ...stored, sha256: "c".repeat(64) }], "sha256"],
  ];

  test.each(cases)("%s, and says which", async (_, reported, problem) => {
    const job = await runningJob(hub, { output_location });
    const stored = await upload(job, "runs/1/a.txt");
    const before = snapshot(hub.home);
    for (const act of ["result", "fail"] as const) {
      const answer = await report(job, reported(stored), act);
      expect(answer).toMatchObject({ status: 409, code: "FILES_INCOMPLETE" });
      expect(errorOf(answer.text).details).toMatchObject({ files: [{ folder_id: "results", problem }] });
    }
    expect(snapshot(hub.home)).toBe(before);
    expect(await report(job, [stored])).toMatchObject({ status: 200 });
  });
});

describe("files stand on the job", () => {
  test("when it has succeeded", async () => {
    const job = await runningJob(hub, { output_location });
    const first = await upload(job, "runs/1/a.txt");
    const second = await upload(job, "runs/1/sub/b", "");
    const reported = [first, { ...second, sha256: `sha256:${second.sha256}` }];
    expect(await report(job, reported)).toMatchObject({ status: 200 });
    expect((await view(job.id)).output_files).toEqual([first, second]);
    expect((await report(job, reported)).json()).toMatchObject({ duplicate: true });
  });

  test("when it has failed", async () => {
    const job = await runningJob(hub, { output_location, max_attempts: 1 });
    const stored = await upload(job, "runs/1/a.txt");
    expect(await report(job, [stored], "fail")).toMatchObject({ status: 200 });
    expect(await view(job.id)).toMatchObject({ status: "failed", output_files: [stored] });
  });

  test("when its end came in a batch, where a bad list does not affect the others", async () => {
    const good = await runningJob(hub, { output_location });
    const bad = await runningJob(hub, { output_location, workerId: good.fence.worker_id });
    const stored = await upload(good, "runs/1/a.txt");
    const items = [good, bad].map(({ id, fence: { attempt, token } }, index) => {
      const output_files = [{ ...stored, folder_id: index === 0 ? "results" : "secrets" }];
      return { job_id: id, attempt, token, result: 1, output_files };
    });
    const body = { worker_id: good.fence.worker_id, items };
    const answer = await hub.must("POST", "/jobs/results", { token: tokens.worker, body });
    expect(answer.json<{ items: unknown[] }>().items).toMatchObject([
      { job_id: good.id, status: "completed" },
      { job_id: bad.id, error: { code: "INVALID_ARGUMENT" } },
    ]);
    expect((await view(good.id)).output_files).toEqual([stored]);
    expect(await view(bad.id)).toMatchObject({ status: "running", output_files: [] });
  });

  test("and a key in a batch that goes up is recorded, as it is alone", async () => {
    const job = await runningJob(hub, { output_location });
    const { worker_id, attempt, token } = job.fence;
    const output_files = [{ ...file, object_key: "runs/1/../../a.txt" }];
    const body = { worker_id, items: [{ job_id: job.id, attempt, token, result: 1, output_files }] };
    const before = lastSeq(hub.home);
    const answer = await hub.must("POST", "/jobs/results", { token: tokens.worker, body });
    expect(answer.json()).toMatchObject({ items: [{ job_id: job.id, error: { code: "INVALID_ARGUMENT" } }] });
    expect(readEvents(hub.home, before)).toMatchObject([{ event: "PATH_TRAVERSAL_ATTEMPT" }]);
  });

  test("and a policy of its own says where they may be", async () => {
    const storage_access_policy = [
      { folderId: "elsewhere", prefix: "", method: "PUT" },
      { folderId: "results", prefix: "", method: "GET" },
    ];
    const job = await runningJob(hub, { output_location, storage_access_policy });
    expect(await report(job, [file])).toMatchObject({ status: 400 });
    const stored = await uploadForJob(hub, job, {
      folderId: "elsewhere",
      objectKey: "a",
      bytes: Buffer.from("x"),
    });
    expect(await report(job, [stored])).toMatchObject({ status: 200 });
  });
});
