import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lastWords, rotateLogs, type WorkerLogs, workerLogs } from "./worker-logs.ts";

let dir: string;
let logs: WorkerLogs;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-worker-logs-"));
  logs = workerLogs(dir, { tenantId: "default", port: 8101 });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("each process has logs of its own, and the logs of the five before it are kept", async () => {
  for (let process = 1; process <= 7; process++) {
    await rotateLogs(logs);
    writeFileSync(logs.out, `process ${process}`);
  }
  const kept = ["", ".1", ".2", ".3", ".4", ".5"].map((suffix) =>
    readFileSync(`${logs.out}${suffix}`, "utf8"),
  );
  expect(kept).toEqual([7, 6, 5, 4, 3, 2].map((process) => `process ${process}`));
  expect(() => readFileSync(`${logs.out}.6`)).toThrow("ENOENT");
});

test("a process that wrote nothing has no last words", async () => {
  expect(await lastWords(logs)).toBe("");
  await rotateLogs(logs);
  writeFileSync(logs.err, "\n\n");
  expect(await lastWords(logs)).toBe("");
});

test("the last error is quoted without the lines around it", async () => {
  writeFileSync(logs.err, "Traceback (most recent call last):\n  File x\nKeyError: 'name'\n\nat the end\n");
  expect(await lastWords(logs)).toBe(": KeyError: 'name'");
});

test("without an error the last lines are quoted, except those that only log a request", async () => {
  const access = '127.0.0.1 - - [16/Nov/2026 17:00:00] "GET /job/1 HTTP/1.1" 200 -';
  writeFileSync(logs.err, `one\ntwo\n${access}\nthree\nfour\n${access}\n`);
  expect(await lastWords(logs)).toBe("; its log default-8101.err.log ends with: two | three | four");
  const refusal = "127.0.0.1 - - [16/Nov/2026 17:00:00] code 404, message File not found";
  writeFileSync(logs.err, `${access}\n${refusal}\n`);
  writeFileSync(logs.out, "ready\n");
  expect(await lastWords(logs)).toBe("; its log default-8101.out.log ends with: ready");
});
