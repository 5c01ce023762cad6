import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documentFormat } from "../core/jobs/document-format.ts";
import { runnersOf } from "../runners/create-runners.ts";
import type { Runner } from "../runners/runner.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import { CagedSandbox } from "../sandbox/caged-sandbox.ts";
import { plainSandbox } from "../sandbox/plain/plain-sandbox.ts";
import { type Sandbox, SandboxUnavailable } from "../sandbox/sandbox.ts";
import { testJobId } from "./fake-hub.testing.ts";
import { loadWorkerSettings } from "./settings.ts";
import { startWorker } from "./start.ts";
import { endingOf, exec, output, setStage, start } from "./worker-stage.testing.ts";

const isRoot = process.getuid?.() === 0;
const notRoot = isRoot ? "" : " (not capable: needs root)";

const stage = setStage();

test("a worker waits for a hub that is away at the start, and runs jobs when it is there", async () => {
  const { port } = stage.hub;
  await stage.hub.stop();
  await startAway(port);
  stage.hub.queue = [exec(1, ["true"])];
  await stage.hub.start(port);
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
});

async function startAway(port: number): Promise<void> {
  const settings = await loadWorkerSettings({
    env: { HUB_URL: `http://127.0.0.1:${port}`, WRIT_TOKEN: "x", NODE_ID: "w1", JOB_POLL_INTERVAL_MS: "50" },
    home: stage.home,
    hostName: "host",
  });
  stage.worker = await startWorker({ settings, home: stage.home, version: "1", logger: silentLogger });
}

test("a worker without given keys fetches the hub's and registers them as trusted", async () => {
  stage.hub.queue = [exec(1, ["true"])];
  await start(stage, { signingKeys: [] });
  await endingOf(stage, 1);
  const registered = stage.hub.calls.find(({ path }) => path === "/workers/register");
  expect(registered?.body).toMatchObject({
    worker_id: "w1",
    key_ids: [stage.hub.key.keyId],
    public_key: expect.any(String),
  });
  expect(statSync(join(stage.home, "worker", "worker.key")).mode & 0o777).toBe(0o600);
});

test("a worker registers the kinds that it has runners for, and the newest format that it reads", async () => {
  const registered = () => stage.hub.calls.find(({ path }) => path === "/workers/register")?.body;
  await start(stage, { handlers: { "test.fn": () => "fine" } });
  expect(registered()).toMatchObject({
    kinds: expect.arrayContaining(["exec", "handler"]),
    handler_types: ["test.fn"],
    sessions: [],
    document_format: documentFormat,
    boot_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("a worker with more slots than its sandbox has processes lowers its slots with a warning", async () => {
  const registered = () => stage.hub.calls.find(({ path }) => path === "/workers/register")?.body;
  await start(stage, { sandbox: { ...plainSandbox, processesMax: 2 }, env: { WORKER_SLOTS: "3" } });
  expect(registered()).toMatchObject({ slots: 2 });
  expect(stage.worker?.warnings).toEqual([
    expect.stringMatching(/^WORKER_SLOTS \(execution\.slots\) is 3, but .* at most 2 processes at once/),
  ]);
});

test.runIf(isRoot)(`the launcher's own bound is such a limit${notRoot}`, async () => {
  const registered = () => stage.hub.calls.find(({ path }) => path === "/workers/register")?.body;
  await start(stage, { env: { WORKER_SLOTS: "1025" } });
  expect(registered()).toMatchObject({ slots: 1024 });
});

test("a worker with functions of its own keeps its slots, however few processes it can run", async () => {
  const registered = () => stage.hub.calls.find(({ path }) => path === "/workers/register")?.body;
  const sandbox = { ...plainSandbox, processesMax: 2 };
  await start(stage, { sandbox, handlers: { "test.fn": () => "fine" }, env: { WORKER_SLOTS: "3" } });
  expect(registered()).toMatchObject({ slots: 3 });
});

test("a strict worker on a host that cannot cage processes claims none of them, but still runs functions", async () => {
  const sandbox = await openStrict(join(stage.home, "no-such-launcher"));
  stage.hub.queue = [exec(1, ["true"])];
  await start(stage, { sandbox, handlers: { "test.fn": () => "fine" } });
  await stage.hub.until(() => stage.hub.pathsOf(/claim-batch/).length > 0);
  const claims = stage.hub.calls.filter(({ path }) => path === "/jobs/claim-batch");
  expect(claims.map(({ body }) => (body as { types?: string[] }).types)).toContainEqual(["test.fn"]);
  expect(claims.every(({ body }) => (body as { types?: string[] }).types !== undefined)).toBe(true);
});

test("a strict worker releases a process that it cannot cage with the reason", async () => {
  const sandbox = await openStrict(join(stage.home, "no-such-launcher"));
  stage.hub.queue = [exec(1, ["true"])];
  await start(stage, { sandbox, handlers: { "test.fn": () => "fine" } });
  await stage.hub.until(() => stage.hub.pathsOf(/release/).length > 0);
  const released = stage.hub.calls.find(({ path }) => path.endsWith("/release"));
  expect(released?.body).toMatchObject({ reason: expect.stringMatching(/^SANDBOX_UNAVAILABLE: .*launcher/) });
  expect(stage.hub.pathsOf(/start$/)).toEqual([]);
  expect(stage.hub.endings).toEqual([]);
});

test("B3: after a process that it could not cage, a worker claims no processes and reports that to the hub until its probe passes", async () => {
  let isFine = false;
  const sandbox: Sandbox = {
    ...plainSandbox,
    level: "strict",
    probe: (asked) =>
      isFine
        ? plainSandbox.probe(asked)
        : Promise.reject(new SandboxUnavailable("cpu: no controller", { isHostDown: true })),
    recheck: async () => (isFine ? null : "cpu: no controller"),
  };
  const registered = () => stage.hub.calls.filter(({ path }) => path === "/workers/register");
  const claims = () => stage.hub.pathsOf(/claim-batch/).length;
  stage.hub.queue = [exec(1, ["true"])];
  await start(stage, { sandbox, env: { WORKER_SLOTS: "1", JOB_POLL_INTERVAL_MS: "10" } });
  await stage.hub.until(() => registered().length === 2);
  expect(registered()[1]?.body).toMatchObject({
    kinds: [],
    sandbox_problem: "SANDBOX_UNAVAILABLE: cpu: no controller",
  });
  const before = claims();
  stage.hub.queue = [exec(2, ["true"])];
  stage.hub.command("work");
  await stage.hub.until(() => registered().length === 2 && stage.hub.pathsOf(/metrics/).length > 0);
  expect(claims()).toBe(before);
  isFine = true;
  expect(await endingOf(stage, 2)).toMatchObject({ exit_code: 0 });
  expect(registered()[2]?.body).not.toHaveProperty("sandbox_problem");
});

test("a host that can cage processes again does not end an administrator's drain", async () => {
  let isFine = false;
  const log: string[] = [];
  const note = (first: unknown, message?: string) => void log.push(message ?? String(first));
  const logger = { ...silentLogger, info: note } as unknown as Logger;
  const sandbox: Sandbox = {
    ...plainSandbox,
    level: "strict",
    obstacle: "cpu: no controller",
    recheck: async () => (isFine ? null : "cpu: no controller"),
  };
  const registered = () => stage.hub.calls.filter(({ path }) => path === "/workers/register");
  const beats = () => stage.hub.pathsOf(/heartbeat/).length;
  stage.hub.drain = true;
  await start(stage, { sandbox, logger, env: { JOB_HEARTBEAT_MS: "50" } });
  await stage.hub.until(() => log.includes("told to drain: claiming nothing more"));
  isFine = true;
  await stage.hub.until(() => log.includes("this host can cage processes again"));
  const before = beats();
  await stage.hub.until(() => beats() > before + 2);
  expect(registered()).toHaveLength(1);
  stage.hub.drain = false;
  await stage.hub.until(() => registered().length === 2);
  expect(registered()[1]?.body).not.toHaveProperty("sandbox_problem");
});

test("a connection that breaks does not end an administrator's drain, unless the hub has forgotten the worker", async () => {
  const { hub } = stage;
  const registered = () => hub.pathsOf(/register/).length;
  const streams = () => hub.pathsOf(/commands/).length;
  const log: string[] = [];
  const note = (first: unknown, message?: string) => void log.push(message ?? String(first));
  const logger = { ...silentLogger, info: note } as unknown as Logger;
  hub.drain = true;
  await start(stage, { logger, env: { JOB_HEARTBEAT_MS: "50" } });
  await hub.until(() => streams() === 1 && log.includes("told to drain: claiming nothing more"));
  hub.endCommands();
  await hub.until(() => streams() === 2);
  expect(registered()).toBe(1);

  const unknown = { error: { code: "WORKER_UNKNOWN", message: "", request_id: "" } };
  let isForgotten = true;
  hub.intercept = ({ path }) => {
    if (path === "/workers/register") isForgotten = false;
    return isForgotten && path.endsWith("/commands") ? { status: 404, body: unknown } : undefined;
  };
  hub.endCommands();
  await hub.until(() => streams() === 4);
  expect(registered()).toBe(2);

  hub.endCommands();
  await hub.until(() => streams() === 5);
  expect(registered()).toBe(2);
  hub.drain = false;
  await hub.until(() => registered() === 3);
});

test.runIf(isRoot)(
  `A19: a worker that runs as root without a launcher runs no process, and says so in its warnings and to the hub${notRoot}`,
  async () => {
    const sandbox = await openCaged(join(stage.home, "no-such-launcher"), undefined);
    expect(sandbox.level).toBe("best-effort");
    stage.hub.queue = [exec(1, ["true"])];
    const worker = await start(stage, { sandbox, handlers: { "test.fn": () => "fine" } });
    await stage.hub.until(() => stage.hub.pathsOf(/release/).length > 0);
    expect(worker.warnings).toEqual([
      expect.stringMatching(/^process jobs are not claimed: SANDBOX_UNAVAILABLE: user: .*no-such-launcher/),
    ]);
    const registered = stage.hub.calls.find(({ path }) => path === "/workers/register");
    expect(registered?.body).toMatchObject({
      kinds: ["handler"],
      handler_types: ["test.fn"],
      sandbox_problem: expect.stringContaining("SANDBOX_UNAVAILABLE: user:"),
    });
    expect(stage.hub.pathsOf(/start$/)).toEqual([]);
    expect(stage.hub.endings).toEqual([]);
  },
);

/** A sandbox that insists on everything, with the launcher that a host without a compiler has: none. */
function openStrict(launcherFile: string): Promise<Sandbox> {
  return openCaged(launcherFile, "strict");
}

function openCaged(launcherFile: string, level: "strict" | undefined): Promise<Sandbox> {
  mkdirSync(join(stage.home, "work"), { recursive: true });
  return CagedSandbox.open({
    level,
    workDir: join(stage.home, "work"),
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: process.getuid!(),
    mayMove: false,
    launcherFile,
  });
}

test("a job right after the start is not missed, even if the hub lets no claim wait", async () => {
  await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/commands/).length === 1);
  stage.hub.queue = [exec(1, ["true"])];
  stage.hub.command("work");
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
});

test("a worker without a stream waits in long polls", async () => {
  stage.hub.intercept = ({ path }) => (path.includes("/commands") ? { status: 502 } : undefined);
  await start(stage);
  const isLongPoll = ({ path, body }: { path: string; body: unknown }) =>
    path === "/jobs/claim-batch" && (body as { wait_ms: number }).wait_ms > 0;
  await stage.hub.until(() => stage.hub.calls.some(isLongPoll));
  stage.hub.queue = [exec(1, ["true"])];
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
});

test("a token that the hub refuses makes the start fail", async () => {
  const error = { code: "UNAUTHENTICATED", message: "no such token", request_id: "" };
  stage.hub.intercept = () => ({ status: 401, body: { error } });
  await expect(start(stage)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("a drain lets a job end, claims nothing more, and deregisters", async () => {
  stage.hub.queue = [exec(1, ["sh", "-c", "echo begun; sleep 0.3; echo done"])];
  await start(stage);
  // On a busy machine the rest may come together with the beginning.
  await stage.hub.until(() => output(stage, 1).startsWith("begun\n"));
  const stopped = stage.worker!.stop();
  stage.hub.queue = [exec(2, ["true"])];
  stage.hub.command("work");
  await stopped;
  expect(stage.hub.endings).toMatchObject([{ job_id: testJobId(1), exit_code: 0 }]);
  expect(output(stage, 1)).toBe("begun\ndone\n");
  expect(stage.hub.pathsOf(/./).at(-1)).toMatch(/^DELETE \/workers\/w1\?boot_id=./);
});

test("a job that outlasts the drain is stopped and released with its output", async () => {
  stage.hub.queue = [
    exec(1, ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.05; done"]),
  ];
  await start(stage, { env: { WRIT_DRAIN_MS: "50" } });
  await stage.hub.until(() => output(stage, 1) === "begun\n");
  await stage.worker!.stop();
  expect(stage.hub.endings).toEqual([]);
  expect(output(stage, 1)).toBe("begun\nbye\n");
  expect(stage.hub.pathsOf(/release/)).toHaveLength(1);
});

test("stopNow kills running jobs and releases them", async () => {
  stage.hub.queue = [exec(1, ["sh", "-c", "trap '' TERM; echo begun; while :; do sleep 0.05; done"])];
  await start(stage);
  await stage.hub.until(() => output(stage, 1) === "begun\n");
  await stage.worker!.stopNow();
  expect(stage.hub.endings).toEqual([]);
  expect(stage.hub.pathsOf(/release/)).toHaveLength(1);
});

test("a second worker process in the same home is refused while the first lives", async () => {
  await start(stage);
  const controller = new AbortController();
  const settings = await loadWorkerSettings({
    env: { HUB_URL: stage.hub.url, WRIT_TOKEN: "x", NODE_ID: "w1" },
    home: stage.home,
    hostName: "host",
  });
  const second = startWorker({
    settings,
    home: stage.home,
    version: "1",
    logger: silentLogger,
    signal: controller.signal,
  });
  controller.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
});

test("a runner closes after the last job and before its sandbox", async () => {
  const steps: string[] = [];
  const sandbox: Sandbox = { ...plainSandbox, close: async () => void steps.push("sandbox closed") };
  const job = Promise.withResolvers<void>();
  await start(stage, { sandbox, createRunners: (deps) => runnersOf(deps, [keeper(steps, job.promise)]) });
  stage.hub.queue = [exec(1, ["true"])];
  stage.hub.command("work");
  await stage.hub.until(() => steps.includes("job began"));
  const stopped = stage.worker!.stop();
  job.resolve();
  await stopped;
  expect(steps).toEqual(["job began", "job ended", "runner closed", "sandbox closed"]);
});

test("stopNow closes runners without a grace period", async () => {
  const steps: string[] = [];
  await start(stage, { createRunners: (deps) => runnersOf(deps, [keeper(steps)]) });
  await stage.worker!.stopNow();
  expect(steps).toEqual(["runner closed at once"]);
});

test("a failed start closes the runners too", async () => {
  const steps: string[] = [];
  const error = { code: "UNAUTHENTICATED", message: "no such token", request_id: "" };
  stage.hub.intercept = () => ({ status: 401, body: { error } });
  const started = start(stage, { createRunners: (deps) => runnersOf(deps, [keeper(steps)]) });
  await expect(started).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  expect(steps).toEqual(["runner closed"]);
});

/** Notes when a job of its begins and ends, and when it is closed. */
function keeper(steps: string[], jobEnds: Promise<void> = Promise.resolve()): Runner {
  return {
    kind: "exec",
    isInProcess: () => false,
    async run() {
      steps.push("job began");
      await jobEnds;
      steps.push("job ended");
      return { kind: "succeeded", resultJson: "null" };
    },
    async close(hurry) {
      steps.push(hurry.aborted ? "runner closed at once" : "runner closed");
    },
  };
}

test("A2: a job that leaves a tree deeper than any path delays neither the next job nor the next start", async () => {
  const nest = "for i in $(seq 25); do mkdir $d && cd -P $d || exit 9; done";
  stage.hub.queue = [exec(1, ["sh", "-c", `d=$(printf %0200d 0); ${nest}`]), exec(2, ["true"])];
  const reports: string[] = [];
  const error = (_facts: object, message: string) => void reports.push(message);
  const logger = { ...silentLogger, error } as unknown as Logger;
  const worker = await start(stage, { env: { WORKER_SLOTS: "1" }, logger });
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
  expect(await endingOf(stage, 2)).toMatchObject({ exit_code: 0 });
  await stage.hub.until(() => readdirSync(join(stage.home, "work", "jobs")).length === 0);
  await worker.stop();

  stage.hub.queue = [exec(3, ["true"])];
  await start(stage, { logger });
  expect(await endingOf(stage, 3)).toMatchObject({ exit_code: 0 });
  await stage.hub.until(() => readdirSync(join(stage.home, "work", "discarded")).length === 0);
  expect(reports).toEqual([]);
});

test.runIf(isRoot)(
  `A7: a job whose launcher dies is reported as failed and not released${notRoot}`,
  async () => {
    stage.hub.queue = [exec(1, ["sh", "-c", "echo begun; sleep 60"])];
    await start(stage);
    await stage.hub.until(() => output(stage, 1) === "begun\n");
    for (const pid of launchers()) process.kill(pid, "SIGKILL");
    expect(await endingOf(stage, 1)).toMatchObject({ code: "WORKER_DISCONNECTED" });
    expect(stage.hub.pathsOf(/release/)).toEqual([]);
  },
);

/** The launchers that this process has started. */
function launchers(): number[] {
  const children = readdirSync("/proc/self/task").flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" ").filter(Boolean),
  );
  return children
    .filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "writ-launcher")
    .map(Number);
}
