import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { createRunners } from "../../src/runners/create-runners.ts";
import { parseReceipt } from "../../src/signing/receipt-text.ts";
import { obstacle } from "../sandbox/cage-stage.ts";
import { startBrokenCable } from "../support/broken-cable.ts";
import { readEvents } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { registerWorker } from "../support/jobs.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();
const { hub } = stage;
const mib = 1024 ** 2;
let writ: Writ;
let dir: string;

beforeAll(() => {
  writ = new Writ({ url: hub.url, token: hub.admin });
  dir = mkdtempSync(join(tmpdir(), "writ-files-"));
});
afterAll(() => {
  writ.close();
  rmSync(dir, { recursive: true, force: true });
});

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Runs a script as a job with these files, and gives the job when it has ended. */
async function run(script: string, fields: object = {}, more: object = {}): Promise<JobView> {
  await stage.startWorker();
  const id = await stage.submit({ kind: "exec", argv: ["sh", "-c", script], ...fields }, more);
  return stage.ended(id);
}

describe("inputs", () => {
  test("are there before the job starts, and cannot be changed in a cage", async () => {
    const inputs = [
      await writ.files.input(Buffer.from("one"), { path: "one.txt" }),
      await writ.files.input(Buffer.from("#!/bin/sh\necho $1"), { path: "bin/say" }),
    ];
    const job = await run(
      `cat inputs/one.txt; inputs/bin/say -two; echo -$JOB_INPUTS_DIR; echo changed > inputs/one.txt; rm -f inputs/one.txt; cat inputs/one.txt`,
      { inputs },
    );
    const place = obstacle === null ? "/work/inputs" : "inputs";
    expect(await stage.output(job.id)).toContain("one-two");
    expect(await stage.output(job.id)).toContain(place);
    if (obstacle === null) expect(await stage.output(job.id)).toMatch(/one$/);
  });

  test("with other bytes than were signed fail the job, and it is not tried again", async () => {
    const input = await writ.files.input(Buffer.from("right"), { path: "a" });
    const job = await run("cat inputs/a", { inputs: [{ ...input, sha256: sha256("wrong") }] });
    expect(job).toMatchObject({ status: "failed", attempts: 1, fail_detail: "INPUT_CHECKSUM_MISMATCH" });
    expect(job.fail_reason).toBe("INVALID_JOB");
    expect(await stage.output(job.id)).toBe("");
  });

  test("that do not exist fail the job, and it is not tried again", async () => {
    const stored = { folder_id: "uploads", object_key: "none", sha256: sha256("x") };
    const job = await run("true", { inputs: [{ path: "a", ...stored }] });
    expect(job).toMatchObject({ status: "failed", attempts: 1, fail_detail: "NO_SUCH_INPUT" });
  });

  test("are not given to a worker of an older version, and why says so", async () => {
    const input = await writ.files.input(Buffer.from("x"), { path: "a" });
    await registerWorker(hub, { kinds: ["exec"], document_format: 3 });
    const id = await stage.submit({ kind: "exec", argv: ["true"], inputs: [input] });
    const why = (await hub.must("GET", `/jobs/${id}/why`, { token: hub.admin })).text;
    expect(why).toContain("format");
    await writ.cancel(id);
  });

  test("of many kilobytes are read on standard input", async () => {
    const bytes = randomBytes(5 * mib);
    const { size: _, ...stdin_from } = await writ.files.upload(bytes);
    const job = await run("sha256sum; cat /dev/stdin | wc -c", { stdin_from });
    expect(await stage.output(job.id)).toContain(sha256(bytes));
  });

  test("that are larger than 8 MiB are refused on standard input", async () => {
    const { size: _, ...stdin_from } = await writ.files.upload(Buffer.alloc(8 * mib + 1));
    const job = await run("wc -c", { stdin_from });
    expect(job).toMatchObject({
      status: "failed",
      fail_code: "INVALID_JOB",
      fail_detail: "JOB_NOT_ACCEPTED",
    });
  });
});

describe("outputs", () => {
  test("that fit a pattern are kept, with their hashes on the job and in the receipt", async () => {
    const job = await run(
      `cd $JOB_OUTPUT_DIR; mkdir deep; printf a > a.txt; printf b > deep/b.txt; printf c > c.bin; echo '{"n":1}'`,
      { collect: ["**/*.txt"] },
    );
    const files = [
      { folder_id: "jobs", object_key: `${job.id}/a.txt`, sha256: sha256("a"), size: 1 },
      { folder_id: "jobs", object_key: `${job.id}/deep/b.txt`, sha256: sha256("b"), size: 1 },
    ];
    expect(job).toMatchObject({ status: "completed", result: { n: 1 }, output_files: files });
    expect(parseReceipt((await writ.receipt(job.id)).receipt)).toMatchObject({ output_files: files });
    await writ.files.saveArtifacts(job.id, join(dir, job.id));
    expect(readFileSync(join(dir, job.id, "deep/b.txt"), "utf8")).toBe("b");
  });

  test("are kept of a job that fails, too", async () => {
    const job = await run("echo log > $JOB_OUTPUT_DIR/log; exit 3", { collect: ["**"] }, { max_attempts: 1 });
    expect(job).toMatchObject({ status: "failed", exit_code: 3, fail_detail: "WORKER_EXIT_ERROR" });
    expect(job.output_files).toMatchObject([{ object_key: `${job.id}/log`, sha256: sha256("log\n") }]);
  });

  test("that a manifest lists are kept under their keys", async () => {
    const manifest = JSON.stringify({ files: [{ local_path: "a b", object_key: "x/y.txt" }] });
    const job = await run(
      `cd $JOB_OUTPUT_DIR; echo hi > 'a b'; printf '%s' '${manifest}' > __manifest__.json`,
      {},
      { output_location: { folder_id: "results", prefix: "runs/1/" } },
    );
    expect(job.output_files).toMatchObject([{ folder_id: "results", object_key: "runs/1/x/y.txt" }]);
    expect(await writ.files.artifacts(job.id)).toMatchObject([{ path: "x/y.txt", available: true }]);
  });

  test("are not kept of a job that does not ask for it", async () => {
    const job = await run("echo hi > $JOB_OUTPUT_DIR/a");
    expect(job).toMatchObject({ status: "completed", output_files: [] });
  });

  const rows = `../secret /etc/passwd link dir-link/passwd environ hard`.split(" ");
  test("M-01: entries that lead out are refused and recorded, and the others are kept", async () => {
    const files = [...rows, "good"].map((path) => ({
      local_path: path,
      object_key: path.replaceAll(/\W/g, "_"),
    }));
    const job = await run(
      `cd $JOB_OUTPUT_DIR; echo good > good; echo x > ../secret; ln -s ../secret link; ln -s /etc dir-link;
       ln -s /proc/self/environ environ; echo y > ../y; ln ../y hard
       printf '%s' '${JSON.stringify({ files })}' > __manifest__.json; echo '{"kept":true}'`,
      {},
      { output_location: { folder_id: "results", prefix: "m01" } },
    );
    expect(job).toMatchObject({
      status: "failed",
      attempts: 1,
      fail_code: "SECURITY_VIOLATION",
      fail_detail: "PATH_TRAVERSAL_ATTEMPT",
      partial_result: { kept: true },
      output_files: [{ object_key: "m01/good" }],
    });
    const events = readEvents(hub.home).filter(({ event }) => event === "PATH_TRAVERSAL_ATTEMPT");
    expect(events.filter(({ job_id }) => job_id === job.id)).toHaveLength(1);
  });

  test("M-01: an output directory that was replaced by a link is not followed", async () => {
    const job = await run(
      "rm -r $JOB_OUTPUT_DIR; ln -s /etc $JOB_OUTPUT_DIR; true",
      { collect: ["**"] },
      { max_attempts: 1 },
    );
    expect(job).toMatchObject({ fail_detail: "PATH_TRAVERSAL_ATTEMPT", output_files: [] });
  });

  test("M-01: a pipe in place of a file does not hold up the worker", async () => {
    const manifest = JSON.stringify({ files: [{ local_path: "pipe", object_key: "p" }] });
    const job = await run(
      `cd $JOB_OUTPUT_DIR; mkfifo pipe; printf '%s' '${manifest}' > __manifest__.json`,
      {},
      { output_location: { folder_id: "results" }, max_attempts: 1 },
    );
    expect(job).toMatchObject({ fail_detail: "MANIFEST_INVALID" });
  });

  test.each([
    ["is not JSON", "echo '{' > __manifest__.json"],
    ["has 100 MB", "truncate -s 100M __manifest__.json"],
    [
      "has a million entries",
      `yes '{"local_path":"a","object_key":"a"},' | head -n 1000000 > __manifest__.json`,
    ],
    ["is a link", "echo '{}' > m; ln -s m __manifest__.json"],
  ])("M-03: a manifest that %s keeps the outcome of the job, with MANIFEST_INVALID", async (_, script) => {
    const job = await run(
      `cd $JOB_OUTPUT_DIR; ${script}; echo '{"kept":true}'`,
      {},
      { output_location: { folder_id: "results", prefix: "m03" }, max_attempts: 1 },
    );
    expect(job).toMatchObject({
      status: "failed",
      exit_code: 0,
      fail_code: "EXECUTION_ERROR",
      fail_detail: "MANIFEST_INVALID",
      partial_result: { kept: true },
      output_files: [],
    });
  });

  test.each([
    ["MANIFEST_INVALID", "no-$KEY", "k"],
    ["MANIFEST_INVALID", "a", "key $KEY"],
    ["PATH_TRAVERSAL_ATTEMPT", "../$KEY", "k"],
  ])("O-07: a secret in the reason of %s is masked wherever the hub shows it", async (detail, path, key) => {
    const secret = "SuperSecretValue/123";
    const file = join(dir, "secret");
    writeFileSync(file, secret, { mode: 0o600 });
    await stage.startWorker({ settings: { secrets: { KEY: { file, tenants: ["default"] } } } });
    const manifest = JSON.stringify({ files: [{ local_path: path, object_key: key }] });
    const script = `cd $JOB_OUTPUT_DIR; echo a > a; echo '${manifest}' | sed "s|[$]KEY|$KEY|" > __manifest__.json`;
    const run = { kind: "exec", argv: ["sh", "-c", script], secrets: ["KEY"] };
    const id = await stage.submit(run, { output_location: { folder_id: "results" }, max_attempts: 1 });
    expect(await stage.ended(id)).toMatchObject({
      fail_detail: detail,
      fail_history: [{ reason: expect.stringContaining("*".repeat(secret.length)) }],
    });
    for (const path of ["", "/events", "/why", "/receipt"]) {
      const shown = await hub.must("GET", `/jobs/${id}${path}`, { token: hub.admin });
      expect(shown.text).not.toContain(secret);
    }
  });

  test("F-50: what the hub refuses to store fails the job with UPLOAD_FAILED, and what has arrived is kept", async () => {
    await writ.fleet.setQuota("default", { max_artifact_bytes: 40 * mib });
    try {
      const job = await run(
        `cd $JOB_OUTPUT_DIR; echo small > small; truncate -s 64M large; echo '{"kept":true}'`,
        { collect: ["**"] },
        { max_attempts: 1 },
      );
      expect(job).toMatchObject({
        status: "failed",
        fail_detail: "UPLOAD_FAILED",
        partial_result: { kept: true },
        output_files: [{ object_key: `${job.id}/small` }],
      });
      expect(job.fail_reason).toBe("EXECUTION_ERROR");
    } finally {
      await writ.fleet.setQuota("default", {});
    }
  });
});

describe("of every kind that runs a process", () => {
  const words = "mkdir -p $JOB_OUTPUT_DIR/x; cp inputs/a $JOB_OUTPUT_DIR/x/b";

  test("files go in and out of a worker that takes one job per call", async () => {
    await stage.startWorker();
    const inputs = [await writ.files.input(Buffer.from("per job"), { path: "a" })];
    const worker_command = ["sh", "-c", words];
    const id = await stage.submit({ kind: "exec_per_job", worker_command, inputs, collect: ["**"] });
    expect((await stage.ended(id)).output_files).toMatchObject([
      { object_key: `${id}/x/b`, sha256: sha256("per job") },
    ]);
  });

  test("files go in and out of a worker that serves many jobs over HTTP", async () => {
    await stage.startWorker();
    const [first, second] = await Promise.all(
      ["first", "second"].map(async (text) => {
        const inputs = [await writ.files.input(Buffer.from(text), { path: "deep/a" })];
        const worker_command = stage.node("copy-inputs.mjs");
        const port = await freePort();
        const run = { kind: "persistent_http", worker_command, port, inputs, collect: ["**"] };
        return stage.ended(await stage.submit(run));
      }),
    );
    expect(first).toMatchObject({ status: "completed", output_files: [{ sha256: sha256("first") }] });
    expect(second).toMatchObject({ status: "completed", output_files: [{ sha256: sha256("second") }] });
  });

  test("a handler that is a function has no files, and says so", async () => {
    await stage.startWorker({
      types: ["fn"],
      createRunners: (deps) => createRunners({ ...deps, functions: new Map([["fn", () => null]]) }),
    });
    const id = await stage.submit({ kind: "handler", collect: ["**"] }, { type: "fn" });
    expect(await stage.ended(id)).toMatchObject({
      fail_code: "INVALID_JOB",
      fail_detail: "JOB_NOT_ACCEPTED",
    });
  });
});

describe("while files are uploaded", () => {
  /** A job whose process has ended and whose upload does not move. */
  async function stuckJob(more: object = {}) {
    const cable = await startBrokenCable(hub.port);
    const worker = await stage.startWorker({ url: cable.url });
    cable.holdAfter(4 * mib);
    const argv = ["sh", "-c", "truncate -s 16M $JOB_OUTPUT_DIR/large; echo '{\"n\":1}'"];
    const id = await stage.submit({ kind: "exec", argv, collect: ["**"] }, { max_attempts: 1, ...more });
    await cable.held;
    return { id, worker, cable };
  }

  test("a cancel ends the job at once, with its result kept", async () => {
    const { id, cable } = await stuckJob();
    await writ.cancel(id);
    expect(await stage.ended(id)).toMatchObject({
      fail_code: "CANCELLED",
      partial_result: { n: 1 },
      exit_code: 0,
    });
    await cable.stop();
  });

  test("the job's time runs on", async () => {
    // Long enough for a busy machine to have begun with the upload by then.
    const { id, cable } = await stuckJob({ timeout_sec: 20 });
    expect(await stage.ended(id)).toMatchObject({ fail_code: "TIMEOUT" });
    await cable.stop();
  });

  test("a worker that stops gives the job back", async () => {
    const { id, worker, cable } = await stuckJob({ max_attempts: 3 });
    await worker.stop();
    expect(await stage.get(id)).toMatchObject({ status: "pending", attempts: 0 });
    await writ.cancel(id);
    await cable.stop();
  });
});

test("files of 64 MiB go in and out over a connection that is cut in the middle of each", async () => {
  const cable = await startBrokenCable(hub.port);
  const there = new Writ({ url: cable.url, token: hub.admin });
  try {
    const bytes = randomBytes(64 * mib);
    cable.cutAfter(20 * mib);
    const input = await there.files.input(bytes, { path: "data" });
    expect(cable.cuts).toBe(1);

    await stage.startWorker({ url: cable.url });
    // What is left of the input after the first cut is less than the second; the whole output is more.
    cable.cutAfter(20 * mib, 60 * mib);
    const argv = ["sh", "-c", "cp inputs/data $JOB_OUTPUT_DIR/"];
    const id = await stage.submit({ kind: "exec", argv, inputs: [input], collect: ["**"] });
    expect(await stage.ended(id)).toMatchObject({
      status: "completed",
      output_files: [{ sha256: input.sha256, size: bytes.length }],
    });
    expect(cable.cuts).toBe(3);

    cable.cutAfter(20 * mib);
    await there.files.saveArtifacts(id, join(dir, "cut"));
    expect(cable.cuts).toBe(4);
    expect(readFileSync(join(dir, "cut/data")).equals(bytes)).toBe(true);
  } finally {
    there.close();
    await cable.stop();
  }
});
