import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { notStarted } from "../../core/jobs/failure.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { warningLogger } from "../../runtime/log/logger.ts";
import { AttemptSecrets } from "../attempt-secrets.ts";
import { runInContainer } from "./run-in-container.ts";

/** In place of the agent: its result is the first message that it gets after the payload. */
const agent = `read payload; read message
echo '{"success":true,"job_id":"one","job_class":"x","exit_code":0,"result":'"$message"'}'`;

function attemptDirOf(): string {
  const attemptDir = mkdtempSync(join(tmpdir(), "writ-in-container-"));
  onTestFinished(() => rmSync(attemptDir, { recursive: true, force: true }));
  return attemptDir;
}

/** Runs a job with these tokens, one for each request. */
async function runWith(answers: (string | Error)[]) {
  const attemptDir = attemptDirOf();
  const clock = handClock();
  const warnings: string[] = [];
  const logger = warningLogger((sentence) => warnings.push(sentence));
  const left = [...answers];
  const get = async (): Promise<string> => {
    const answer = left.length > 1 ? left.shift()! : left[0]!;
    if (typeof answer === "string") return answer;
    throw answer;
  };
  const run = { kind: "exec_per_job", worker_command: ["true"], container: "box" };
  const never = new AbortController().signal;
  const context = {
    document: { run, type: "x", tenant_id: "t" },
    signed: { run },
    lease: { job_id: "one", attempt: 1, timeout_sec: 60 },
    attemptDir,
    signal: never,
    hurry: never,
    secrets: new AttemptSecrets(),
    jobToken: { get },
    onStarted: async () => {},
    onProcess() {},
  };
  const containers = { byName: { box: { exec: ["sh", "-c", agent] } }, env: {}, hubUrl: "", ca: undefined };
  const settings = { containers, secrets: {}, outputBytesMax: 1000, stopGraceMs: 1000 };
  const outcome = runInContainer({ settings, clock, logger } as never, context as never, "box");
  let isOver = false;
  void outcome.finally(() => {
    isOver = true;
  });
  await expect.poll(() => clock.pass(5_000).then(() => isOver)).toBe(true);
  return { outcome: await outcome, warnings };
}

test("a token that became old during the announcement is replaced", async () => {
  const { outcome } = await runWith(["first", "second"]);
  expect(outcome).toMatchObject({ kind: "succeeded", resultJson: '{"job_token":"second"}' });
});

test("a token that is missing when the agent starts causes a warning and is sent later", async () => {
  const refusal = new WritError("PERMISSION_DENIED", "not now");
  const { outcome, warnings } = await runWith(["first", refusal, "second"]);
  expect(outcome).toMatchObject({ kind: "succeeded", resultJson: '{"job_token":"second"}' });
  expect(warnings).toEqual(["no job token could be had for a job in a container (not now)"]);
});

/** In place of an agent that does not know the job yet when it is to be stopped: it ends with its standard input. */
const lateAgent = `case "$*" in *stop-job*) echo "no such job" >&2; exit 1 ;; esac
cat > /dev/null
echo '{"success":false,"job_id":"one","job_class":"x","exit_code":1,"error":{"code":"CANCELLED","message":"stopped"}}'`;

test("a job that is cancelled before its agent knows it does not continue", async () => {
  const warnings: string[] = [];
  const run = { kind: "exec_per_job", worker_command: ["true"], container: "box" };
  const stop = new AbortController();
  const context = {
    document: { run, type: "x", tenant_id: "t" },
    signed: { run },
    lease: { job_id: "one", attempt: 1, timeout_sec: 60 },
    attemptDir: attemptDirOf(),
    signal: stop.signal,
    hurry: new AbortController().signal,
    secrets: new AttemptSecrets(),
    onStarted: async () => {},
    onProcess: (pid: number) => pid !== 0 && stop.abort("cancelled"),
  };
  const exec = ["sh", "-c", lateAgent, "sh"];
  const containers = { byName: { box: { exec } }, env: {}, hubUrl: "", ca: undefined };
  const settings = { containers, secrets: {}, outputBytesMax: 1000, stopGraceMs: 1000 };
  const logger = warningLogger((sentence) => warnings.push(sentence));
  // Its clock stands still: no time limit is what ends the job.
  const outcome = await runInContainer(
    { settings, clock: handClock(), logger } as never,
    context as never,
    "box",
  );
  expect(outcome).toMatchObject({ kind: "failed", code: "CANCELLED" });
  expect(warnings).toEqual(["a job in a container could not be stopped"]);
});

test("a job that is released before its agent was started has not begun", async () => {
  const run = { kind: "exec_per_job", worker_command: ["true"], container: "box" };
  const stop = new AbortController();
  const context = {
    document: { run, type: "x", tenant_id: "t" },
    signed: { run },
    lease: { job_id: "one", attempt: 1, timeout_sec: 60 },
    attemptDir: attemptDirOf(),
    signal: stop.signal,
    hurry: new AbortController().signal,
    secrets: new AttemptSecrets(),
    onStarted: async () => stop.abort("drain"),
    onProcess() {},
  };
  const containers = { byName: { box: { exec: ["false"] } }, env: {}, hubUrl: "", ca: undefined };
  const settings = { containers, secrets: {}, outputBytesMax: 1000, stopGraceMs: 1000 };
  const deps = { settings, clock: handClock(), logger: warningLogger(() => {}) };
  expect(await runInContainer(deps as never, context as never, "box")).toEqual({
    kind: "released",
    reason: `${notStarted}: the worker is stopping`,
  });
});
