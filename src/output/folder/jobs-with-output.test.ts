import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { JobsWithOutput } from "./jobs-with-output.ts";
import { jobOutputDir } from "./output-path.ts";

function openRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "writ-jobs-with-output-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

const jobId = (n: number) => `0190aaaa-0000-7000-8000-${String(n).padStart(12, "0")}`;

test("a job that an earlier process has written for is known, and its neighbours in the folder are not", () => {
  const root = openRoot();
  mkdirSync(jobOutputDir(root, jobId(1)), { recursive: true });
  const jobs = new JobsWithOutput(root);
  expect(jobs.mayHave(jobId(2))).toBe(false);
  expect(jobs.mayHave(jobId(1))).toBe(true);
});

test("an append that is noted is known before its folder exists, whether its folder was listed or not", () => {
  const jobs = new JobsWithOutput(openRoot());
  jobs.note(jobId(1));
  expect([jobs.mayHave(jobId(1)), jobs.mayHave(jobId(2))]).toEqual([true, false]);
  jobs.note(jobId(2));
  expect(jobs.mayHave(jobId(2))).toBe(true);
});

test("with too many names to remember, the disk is asked", () => {
  const root = openRoot();
  const jobs = new JobsWithOutput(root);
  for (let n = 0; n <= 50_000; n++) jobs.note(jobId(n));
  expect(jobs.mayHave(jobId(7))).toBe(false);
  mkdirSync(jobOutputDir(root, jobId(60_000)), { recursive: true });
  expect(jobs.mayHave(jobId(60_000))).toBe(true);
});
