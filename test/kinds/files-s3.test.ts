import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { readText } from "../docs/page.ts";
import type { S3Fault } from "../support/s3-proxy.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";
import { kindStage } from "./stage.ts";

const s3 = startedForAll(startS3Server);
const stage = kindStage(() => s3.env);
const { hub } = stage;
const mib = 1024 ** 2;
let writ: Writ;

beforeAll(() => {
  writ = new Writ({ url: hub.url, token: hub.admin });
});
afterAll(() => writ.close());
beforeEach(() => {
  s3.proxy.fault = undefined;
  s3.proxy.seen.length = 0;
});

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Somebody who must never be spoken to. */
async function canary(): Promise<{ url: string; visits(): number }> {
  let visits = 0;
  const server = createServer((_, outgoing) => outgoing.end("caught")).on("connection", () => void visits++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, visits: () => visits };
}

const script = `cd $JOB_OUTPUT_DIR; printf good > good; printf broken > broken; echo '{"n":1}'`;

async function run(more: object = { max_attempts: 1 }, fields: object = {}): Promise<JobView> {
  await stage.startWorker();
  const argv = ["sh", "-c", script];
  return stage.ended(await stage.submit({ kind: "exec", argv, collect: ["**"], ...fields }, more));
}

/** What becomes of the requests that put the file `broken`, one after the other; the last fault stays. */
function breakPuts(...faults: (S3Fault | undefined)[]): { paths: string[] } {
  const paths: string[] = [];
  s3.proxy.fault = (method, path, headers) => {
    if (method !== "PUT" || headers["content-length"] !== String("broken".length)) return undefined;
    paths.push(path.split("?")[0]!);
    return faults[Math.min(paths.length, faults.length) - 1];
  };
  return { paths };
}

const serverError: S3Fault = { kind: "status", status: 500, code: "InternalError" };

test("files go in and out by way of the store, and only the copies are left there", async () => {
  const before = new Set(s3.keys());
  const input = await writ.files.input(Buffer.from("from the store"), { path: "a" });
  const job = await run({}, { inputs: [input], argv: ["sh", "-c", "cp inputs/a $JOB_OUTPUT_DIR/b"] });
  expect(job).toMatchObject({ status: "completed", output_files: [{ sha256: input.sha256 }] });
  const made = s3.keys().filter((key) => !before.has(key));
  expect(made.map((key) => key.replace(/[0-9a-f-]{36}\/[0-9a-f]{16}/, "ID/COPY")).sort()).toEqual([
    `default/jobs/ID/COPY/${job.id}/b`,
    `default/uploads/ID/COPY/${input.sha256}`,
  ]);
  expect((await writ.files.hashArtifact(job.id, (await writ.files.artifacts(job.id))[0]!)).sha256).toBe(
    input.sha256,
  );
});

describe("F-50: an upload", () => {
  const lost = {
    status: "failed",
    fail_code: "EXECUTION_ERROR",
    fail_detail: "UPLOAD_FAILED",
    exit_code: 0,
    partial_result: { n: 1 },
    output_files: [{ sha256: sha256("good") }],
  };

  test.each<[string, S3Fault, number]>([
    ["answered with 403 is not tried again", { kind: "status", status: 403, code: "AccessDenied" }, 1],
    ["answered with 500 is tried three times", serverError, 3],
    [
      "answered with a wrong ETag is tried three times, and not believed",
      { kind: "tag", etag: `"${"0".repeat(32)}"` },
      3,
    ],
    ["that is cut each time is tried three times", { kind: "cut request", afterBytes: 2 }, 3],
  ])("%s; the job fails and keeps what has arrived", async (_, fault, tries) => {
    const { paths } = breakPuts(fault);
    const job = await run();
    expect(job).toMatchObject(lost);
    expect(paths).toHaveLength(tries);
    expect(job.fail_history.at(-1)!.reason).toContain('"broken": ');
    expect(job.fail_history.at(-1)!.reason).not.toContain("good");
  });

  test("that is redirected is refused, and no other server is called", async () => {
    const elsewhere = await canary();
    const { paths } = breakPuts({ kind: "redirect", to: elsewhere.url });
    expect(await run()).toMatchObject(lost);
    expect(paths).toHaveLength(1);
    expect(elsewhere.visits()).toBe(0);
  });

  test("whose URL has expired meanwhile, or that fails once, gets a fresh URL and arrives", async () => {
    const expired: S3Fault = {
      kind: "status",
      status: 403,
      code: "AccessDenied",
      message: "Request has expired",
    };
    const { paths } = breakPuts(expired, serverError, undefined);
    expect(await run()).toMatchObject({
      status: "completed",
      result: { n: 1 },
      output_files: [{ sha256: sha256("broken") }, { sha256: sha256("good") }],
    });
    expect(paths).toHaveLength(3);
  });

  test("M-04: of the next attempt goes to a place of its own", async () => {
    const { paths } = breakPuts({ kind: "status", status: 403, code: "AccessDenied" }, undefined);
    expect(await run({ max_attempts: 2 })).toMatchObject({ status: "completed", attempts: 2 });
    expect(new Set(paths).size).toBe(2);
  });
});

describe("F-50: an input", () => {
  test.each<[string, S3Fault]>([
    ["that the store refuses", { kind: "status", status: 403, code: "AccessDenied" }],
    ["that the store fails to send", serverError],
    ["whose bytes are cut off each time", { kind: "cut answer", afterBytes: 3 }],
  ])("%s is INPUT_UNAVAILABLE, and the job does not start", async (_, fault) => {
    const input = await writ.files.input(randomBytes(100), { path: "a" });
    s3.proxy.fault = (method) => (method === "GET" ? fault : undefined);
    const job = await run({ max_attempts: 1 }, { inputs: [input] });
    expect(job).toMatchObject({ status: "failed", fail_detail: "INPUT_UNAVAILABLE", output_files: [] });
  });

  test("U-04: that is redirected is not fetched from elsewhere", async () => {
    const elsewhere = await canary();
    const input = await writ.files.input(randomBytes(100), { path: "a" });
    s3.proxy.fault = (method) => (method === "GET" ? { kind: "redirect", to: elsewhere.url } : undefined);
    const job = await run({ max_attempts: 1 }, { inputs: [input] });
    expect(job).toMatchObject({ status: "failed", fail_detail: "INPUT_UNAVAILABLE" });
    expect(elsewhere.visits()).toBe(0);
  });
});

test("a large upload that a program gave up is continued by the next one, part by part", async () => {
  const bytes = randomBytes(80 * mib);
  const stop = new AbortController();
  const onProgress = (sent: number): void => {
    if (sent > 40 * mib) stop.abort();
  };
  const given = writ.files.upload(bytes, { signal: stop.signal, onProgress });
  await expect(given).rejects.toThrow();
  const put: string[] = [];
  s3.proxy.fault = (method, path) => {
    const number = new URL(path, s3.proxy.url).searchParams.get("partNumber");
    if (method === "PUT" && number !== null) put.push(number);
    return undefined;
  };
  const other = new Writ({ url: hub.url, token: hub.admin });
  onTestFinished(() => other.close());
  const stored = await other.files.upload(bytes);
  expect(stored).toMatchObject({ sha256: sha256(bytes), size: bytes.length });
  // The third may have arrived before it was given up.
  expect(put.filter((number) => number !== "3")).toEqual(["4", "5"]);
  const count = put.length;
  expect(await other.files.upload(bytes)).toEqual(stored);
  expect(put).toHaveLength(count);
});

const python = "/usr/bin/python3";
const pythonName = "the Python program of docs/files.md does the same with an object store";
const runPython = async (): Promise<void> => {
  const cwd = mkdtempSync(join(tmpdir(), "writ-files-python-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "fruit.txt"), "pear\n");
  const [, program = ""] = /```python\n([\s\S]*?)```/.exec(readText("docs/files.md")) ?? [];
  const env = { WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin };
  const { stdout } = await promisify(execFile)(python, ["-c", program], { cwd, env });
  expect(stdout).toBe("pear\n");
  expect(s3.keys().filter((key) => key.endsWith("/fruit.txt"))).toHaveLength(1);
};
if (existsSync(python)) test(pythonName, runPython);
else test.skip(`${pythonName} (not capable: no ${python})`, runPython);
