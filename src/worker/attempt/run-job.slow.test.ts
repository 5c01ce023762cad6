import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { plainSandbox } from "../../sandbox/plain/plain-sandbox.ts";
import { generateSigningKey } from "../../signing/ed25519.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { signedBatch, testJob, testJobId } from "../fake-hub.testing.ts";
import { endingOf, exec, output, setStage, start } from "../worker-stage.testing.ts";

const stage = setStage();
const violation = { code: "SECURITY_VIOLATION" };

async function refusal() {
  await stage.hub.until(() => stage.hub.refusals.length > 0);
  expect(stage.hub.endings).toEqual([]);
  expect(stage.hub.pathsOf(/\/start$/)).toEqual([]);
  return stage.hub.refusals[0];
}

test("a job signed by a key that the worker does not trust is reported and not run", async () => {
  const marker = join(stage.home, "ran");
  stage.hub.queue = [exec(1, ["touch", marker])];
  await start(stage, { signingKeys: [generateSigningKey().signingKey.publicKeyPem] });
  expect(await refusal()).toMatchObject({ detail: "KEY_NOT_TRUSTED", jobs: [{ attempt: 1 }] });
  expect(existsSync(marker)).toBe(false);
});

test("O-10 a batch with one altered document is reported once, as a whole, and none of its jobs runs", async () => {
  const markers = [1, 2].map((number) => join(stage.home, `ran-${number}`));
  await start(stage);
  const jobs = markers.map((marker, index) => exec(index + 1, ["touch", marker]));
  const batch = signedBatch(stage.hub.key, jobs);
  const altered = jobs.with(0, { ...jobs[0]!, document: jobs[0]!.document.replace("touch", "touck") });
  let isGiven = false;
  stage.hub.intercept = ({ path }) => {
    if (path !== "/jobs/claim-batch" || isGiven) return undefined;
    isGiven = true;
    return { status: 200, body: { ...batch, jobs: altered } };
  };
  stage.hub.command("work");
  expect(await refusal()).toMatchObject({
    detail: "INVALID_SIGNATURE",
    jobs: altered.map(({ document }, index) => ({
      job_id: testJobId(index + 1),
      document_sha256: sha256Hex(document),
    })),
    unreadable: 0,
    key_id: batch.batch.key_id,
    signature: batch.batch.signature,
  });
  expect(markers.map((marker) => existsSync(marker))).toEqual([false, false]);
  expect(stage.hub.refusals).toHaveLength(1);
});

test("O-10 a batch whose leases cannot be read is reported too", async () => {
  await start(stage);
  let isGiven = false;
  stage.hub.intercept = ({ path }) => {
    if (path !== "/jobs/claim-batch" || isGiven) return undefined;
    isGiven = true;
    const job = { ...exec(1, ["true"]), lease: "{}" };
    return { status: 200, body: { jobs: [job], batch: signedBatch(stage.hub.key, [job]).batch } };
  };
  stage.hub.command("work");
  expect(await refusal()).toMatchObject({ detail: "INVALID_SIGNATURE", jobs: [], unreadable: 1 });
});

test("a batch with a lease for another worker is reported and not run", async () => {
  stage.hub.queue = [exec(1, ["true"], { lease: { worker_id: "w2" } }), exec(2, ["true"])];
  await start(stage);
  expect(await refusal()).toMatchObject({ detail: "INVALID_SIGNATURE", jobs: [{}, {}] });
});

test("a job whose lease has expired by the worker's clock is released and not failed", async () => {
  const longAgo = Math.floor(Date.now() / 1000) - 600;
  stage.hub.queue = [exec(1, ["true"], { lease: { issued_at_ts: longAgo, expires_at_ts: longAgo + 60 } })];
  await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/release/).length === 1);
  const release = stage.hub.calls.find(({ path }) => path.endsWith("/release"));
  expect(release?.body).toMatchObject({ reason: expect.stringContaining("compare the clocks") });
});

test("a system clock that is set ahead after the start does not shorten a process's time", async () => {
  let aheadMs = 0;
  const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs };
  const failpoint = async (name: string) => {
    if (name === "worker.started") aheadMs = 3_600_000;
  };
  const done = join(stage.home, "done");
  stage.hub.queue = [exec(1, ["sh", "-c", `while ! test -e ${done}; do sleep 0.01; done`])];
  await start(stage, { clock, failpoint, sandbox: plainSandbox });
  // By then its time is watched.
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1 || stage.hub.endings.length === 1);
  writeFileSync(done, "");
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
});

test("an attempt that has been run before is refused as a replay, even after a restart", async () => {
  const job = exec(1, ["true"]);
  stage.hub.queue = [job];
  const first = await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
  await first.stop();
  stage.hub.endings.length = 0;

  stage.hub.queue = [job];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ ...violation, detail: "REPLAY" });
});

test("a lease that is bound to another process of the worker is refused as a replay; one of this process runs once", async () => {
  const marker = join(stage.home, "ran");
  stage.hub.queue = [exec(1, ["touch", marker], { lease: { boot_id: "an earlier process" } })];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ ...violation, detail: "REPLAY" });
  expect(existsSync(marker)).toBe(false);

  const claims = stage.hub.calls.filter(({ path }) => path === "/jobs/claim-batch");
  const { boot_id } = claims[0]!.body as { boot_id: string };
  const job = exec(2, ["true"], { lease: { boot_id } });
  stage.hub.queue = [job];
  stage.hub.command("work");
  expect(await endingOf(stage, 2)).toMatchObject({ exit_code: 0 });
  // Once a job after it has run, the worker holds the first one no longer.
  stage.hub.queue = [exec(3, ["true"])];
  stage.hub.command("work");
  await endingOf(stage, 3);
  stage.hub.endings.length = 0;
  stage.hub.queue = [job];
  stage.hub.command("work");
  expect(await endingOf(stage, 2)).toMatchObject({ ...violation, detail: "REPLAY" });
});

test("a document with a field that the worker does not know is an invalid job", async () => {
  stage.hub.queue = [exec(1, ["true"], { document: { only_on_sundays: true } })];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({
    code: "INVALID_JOB",
    detail: "JOB_NOT_ACCEPTED",
    reason: expect.stringContaining("only_on_sundays"),
  });
});

test("a kind that the worker cannot run is an invalid job", async () => {
  stage.hub.queue = [testJob(1, { kind: "delegate", agent: "default", prompt: "think" })];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({
    code: "INVALID_JOB",
    detail: "JOB_NOT_ACCEPTED",
    reason: "this worker does not run delegate jobs",
  });
});

test("nothing of a job that is allowed one attempt is executed when the hub refuses the start", async () => {
  const marker = join(stage.home, "ran");
  stage.hub.intercept = ({ path }) =>
    path.endsWith("/start")
      ? { status: 409, body: { error: { code: "LEASE_LOST", message: "", request_id: "" } } }
      : undefined;
  stage.hub.queue = [exec(1, ["touch", marker], { document: { max_attempts: 1 } })];
  await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1);
  await stage.worker!.stop();
  expect(existsSync(marker)).toBe(false);
  expect(stage.hub.endings).toEqual([]);
});

test("a job that still runs when the hub refuses its late start is ended and not reported", async () => {
  stage.hub.intercept = ({ path }) =>
    path.endsWith("/start")
      ? { status: 409, body: { error: { code: "LEASE_LOST", message: "", request_id: "" } } }
      : undefined;
  stage.hub.queue = [exec(1, ["sleep", "60"])];
  await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1);
  await expect.poll(() => readdirSync(join(stage.home, "work", "jobs")), { timeout: 60_000 }).toEqual([]);
  expect(stage.hub.endings).toEqual([]);
});

test("the hub learns of every start from a call or from the report of an early end", async () => {
  stage.hub.queue = [exec(1, ["true"]), exec(2, ["sleep", "1"])];
  await start(stage);
  const before = Date.now();
  for (const number of [1, 2]) {
    const ending = await endingOf(stage, number);
    const isAnnounced = stage.hub.pathsOf(new RegExp(`${testJobId(number)}/start$`)).length === 1;
    const receipt = ending["receipt_parts"] as { started_at: number };
    expect(receipt.started_at).toBeGreaterThan(before - 60_000);
    expect(ending["started_at"]).toBe(isAnnounced ? undefined : receipt.started_at);
  }
  expect(stage.hub.pathsOf(new RegExp(`${testJobId(2)}/start$`))).toHaveLength(1);
});

test("a process job's output arrives before its result, and its files are removed", async () => {
  stage.hub.queue = [exec(1, ["sh", "-c", "echo hello; echo oops >&2; echo '{\"n\":1.0}'"])];
  await start(stage);
  const ending = await endingOf(stage, 1);
  expect(ending).toMatchObject({
    exit_code: 0,
    isolation: { level: expect.stringMatching(/^(strict|best-effort)$/) },
    result: { n: 1 },
  });
  expect(output(stage, 1)).toBe('hello\n{"n":1.0}\n');
  expect(output(stage, 1, "stderr")).toBe("oops\n");
  const order = stage.hub.pathsOf(/output|results/).map((path) => path.split("/").at(-1)?.split("?")[0]);
  expect(order.at(-1)).toBe("results");
  await stage.worker!.stop();
  expect(["jobs", "folders"].map((name) => readdirSync(join(stage.home, "work", name)))).toEqual([[], []]);
});

test("a handler's result, log and failure code reach the hub, and a short job is never announced", async () => {
  stage.hub.queue = [
    testJob(1, { kind: "handler", params: { n: 2 } }, { document: { type: "double" } }),
    testJob(2, { kind: "handler" }, { document: { type: "refuse" } }),
    testJob(3, { kind: "handler" }, { document: { type: "expire" } }),
  ];
  await start(stage, {
    handlers: {
      double: (job, context) => {
        context.log("doubling");
        return { twice: (job.params as { n: number }).n * 2 };
      },
      refuse: () => {
        throw Object.assign(new Error("never again"), { code: "INVALID_JOB" });
      },
      expire: () => {
        throw Object.assign(new Error("too late"), { code: "EXPIRED" });
      },
    },
  });
  expect(await endingOf(stage, 1)).toMatchObject({
    result: { twice: 4 },
    isolation: { level: "in-process" },
  });
  expect(await endingOf(stage, 2)).toMatchObject({ code: "INVALID_JOB", reason: "never again" });
  // B14: only the hub gives this code.
  expect(await endingOf(stage, 3)).toMatchObject({ code: "EXECUTION_ERROR", reason: "too late" });
  expect(output(stage, 1)).toBe("doubling\n");
  expect(stage.hub.pathsOf(/\/start$/)).toEqual([]);
});

test("a slow handler is announced, and a cancel aborts its signal", async () => {
  stage.hub.queue = [testJob(1, { kind: "handler" }, { document: { type: "wait" } })];
  await start(stage, {
    handlers: {
      wait: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop")))),
    },
  });
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1);
  stage.hub.command("cancel", { job_id: testJobId(1) });
  expect(await endingOf(stage, 1)).toMatchObject({ code: "CANCELLED", reason: "cancelled" });
});

test("a job that runs too long is ended with TIMEOUT", async () => {
  stage.hub.queue = [exec(1, ["sleep", "60"], { lease: { timeout_sec: 1 } })];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ code: "TIMEOUT", reason: "ran longer than 1 s" });
});

test("a job that the hub calls lost is killed and never reported", async () => {
  const pidFile = join(stage.home, "pid");
  stage.hub.queue = [
    exec(1, ["sh", "-c", `echo $$ > ${pidFile}; echo ready; trap '' TERM; while :; do sleep 1; done`]),
  ];
  await start(stage, { env: { JOB_HEARTBEAT_MS: "50" } });
  await stage.hub.until(() => output(stage, 1) === "ready\n");
  stage.hub.lost = [testJobId(1)];
  await stage.hub.until(() => !existsSync(join(stage.home, "work", "jobs", testJobId(1))));
  expect(stage.hub.endings).toEqual([]);
});

test("B2: a claim of the next attempt ends one that still runs here, and only the next one is reported", async () => {
  const attemptDir = (attempt: number) => join(stage.home, "work", "jobs", testJobId(1), String(attempt));
  stage.hub.queue = [exec(1, ["sleep", "60"])];
  await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/\/start$/).length === 1);
  stage.hub.queue = [exec(1, ["true"], { lease: { attempt: 2, token: "token-of-the-next-attempt" } })];
  stage.hub.command("work");
  expect(await endingOf(stage, 1)).toMatchObject({ attempt: 2, exit_code: 0 });
  await expect.poll(() => existsSync(attemptDir(1))).toBe(false);
  expect(stage.hub.endings).toHaveLength(1);
});

test("when the hub cannot be reached for most of a lease, the processes of a job that must not overlap are ended by the worker itself", async () => {
  // Long enough for the job to be started and renewed on a machine that stands still for a second.
  stage.hub.leaseMs = 4_000;
  stage.hub.queue = [exec(1, ["sleep", "60"], { document: { on_disconnect: "stop" } })];
  await start(stage, { env: { JOB_HEARTBEAT_MS: "50" } });
  await stage.hub.until(
    () => stage.hub.pathsOf(/heartbeat/).length > 3 && stage.hub.pathsOf(/\/start$/).length === 1,
  );
  stage.hub.intercept = ({ path }) => (path === "/workers/heartbeat" ? { status: 503 } : undefined);
  await stage.hub.until(() => !existsSync(join(stage.home, "work", "jobs", testJobId(1))));
  expect(stage.hub.endings).toEqual([]);
});

test.each([
  ["dies by the stop", "exec sleep 600", 143],
  ["had ended before the stop", "true", 0],
])(
  "O-20: the stop of a job that %s is told before the rest of its output",
  async (_when, last, exit_code) => {
    const ended = Promise.withResolvers<void>();
    const failpoint = async (name: string) => {
      if (name === "worker.afterRun") ended.resolve();
    };
    let isStuck = true;
    stage.hub.intercept = ({ path }) =>
      isStuck && path.includes("/output/")
        ? { status: 503, body: { error: { code: "UNAVAILABLE" } } }
        : undefined;
    stage.hub.queue = [exec(1, ["sh", "-c", `head -c 100000 /dev/zero; ${last}`])];
    await start(stage, { sandbox: plainSandbox, failpoint });
    await stage.hub.until(() => stage.hub.pathsOf(/\/output\//).length > 0);
    if (exit_code === 0) await ended.promise;
    stage.hub.command("cancel", { job_id: testJobId(1) });
    const told = () => stage.hub.calls.find(({ path }) => path.endsWith("/stopped"));
    await stage.hub.until(() => told() !== undefined);
    expect(told()?.body).toMatchObject({ attempt: 1, exit_code });
    expect(stage.hub.endings).toEqual([]);
    isStuck = false;
    expect(await endingOf(stage, 1)).toMatchObject({ exit_code });
    expect(output(stage, 1)).toHaveLength(100_000);
  },
);
