import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { warningLogger } from "../../src/runtime/log/logger.ts";
import { obstacle as cageObstacle, openSandbox } from "../sandbox/cage-stage.ts";
import { startBotServer } from "../support/bot-server.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { startTestWorker } from "../support/worker.ts";

const MiB = 1024 ** 2;
const obstacle = mountObstacle() ?? cageObstacle;
const name =
  "F-05: a disk that is full refuses output, loses nothing of it, and takes the rest when there is room";

const containerName =
  "a worker whose disk is full gives a job in a container back, and lives on to run it when there is room";

const sharedName =
  "a job allowed one attempt that fills the disk of its hub and its worker waits, and all of its output is there in the end";

for (const [title, run] of [
  [name, fillDisk],
  [sharedName, fillSharedDisk],
  [containerName, fillWorkersDisk],
] as const) {
  if (obstacle === null) test(title, run);
  else test.skip(`${title} (not capable: ${obstacle})`, run);
}

async function fillDisk(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "writ-full-disk-"));
  const outputs = join(home, "outputs");
  mkdirSync(outputs, { mode: 0o700 });
  mount(outputs, "size=2m,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", [outputs]);
    rmSync(home, { recursive: true, force: true });
  });
  const hook = await startBotServer();
  onTestFinished(() => hook.stop());
  const webhook = { WRIT_WEBHOOK_URL: hook.url, WRIT_WEBHOOK_SECRET: "0123456789abcdef" };
  const hub = await startTestHub({ ...stillEnv, ...webhook }, { home });
  onTestFinished(() => hub.stop({ keepHome: true }));

  // Nothing that was acknowledged is lost, and what was refused has left no trace.
  const byHand = await runningJob(hub, { workerId: await registerWorker(hub) });
  const said = Buffer.alloc(MiB, "a");
  expect((await appendOutput(hub, byHand, { bytes: said })).json()).toEqual({ size: MiB });
  const more = { offset: MiB, bytes: Buffer.alloc(2 * MiB, "b") };
  expect(await appendOutput(hub, byHand, more)).toMatchObject({
    status: 503,
    code: "OUTPUT_UNAVAILABLE",
    text: expect.stringContaining("the disk is full"),
    headers: { "retry-after": "1" },
  });
  expect((await readOutput(hub, byHand.id)).equals(said)).toBe(true);
  await eventually("people are told", () => hook.heard.some(({ body }) => body.includes("DISK_FULL")));

  // A worker keeps what the hub could not take, and says so only in its log.
  const type = "speaks";
  const worker = await startTestWorker(hub, { types: [type] });
  onTestFinished(() => worker.stop());
  const script = `head -c ${3 * MiB} /dev/zero | tr '\\0' c`;
  const { id } = await submitJob(hub, { type, run: { kind: "exec", argv: ["/bin/sh", "-c", script] } });
  const log = join(home, "logs", "hub.log");
  await eventually("the worker is refused, several times", () => {
    const lines = readFileSync(log, "utf8").split("\n");
    return lines.filter((line) => line.includes("ENOSPC")).length > 3;
  });
  expect((await viewOf(hub, id)).status).toBe("running");
  const copy = join(worker.home, "work", "jobs", id, "1", "stdout.log");
  expect(readFileSync(copy)).toHaveLength(3 * MiB);

  mount(outputs, "remount,size=16m");
  await eventually("the job is done", async () => (await viewOf(hub, id)).status === "completed");
  expect((await readOutput(hub, id)).equals(Buffer.alloc(3 * MiB, "c"))).toBe(true);
  expect((await appendOutput(hub, byHand, more)).json()).toEqual({ size: 3 * MiB });
  expect((await readOutput(hub, byHand.id)).equals(Buffer.concat([said, more.bytes]))).toBe(true);
}

/** As with `writ up`: the worker's copy is where the hub's is. */
async function fillSharedDisk(): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), "writ-shared-disk-"));
  mount(disk, "size=40m,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  const [home, workDir] = [join(disk, "home"), join(disk, "work")];
  for (const dir of [home, workDir]) mkdirSync(dir, { mode: 0o700 });
  const hub = await startTestHub(stillEnv, { home });
  onTestFinished(() => hub.stop({ keepHome: true }));
  const warnings: string[] = [];
  const sandbox = await openSandbox(workDir, { logger: warningLogger((line) => warnings.push(line)) });
  onTestFinished(() => sandbox.close());
  const worker = await startTestWorker(hub, { types: ["speaks"], settings: { workDir }, sandbox });
  onTestFinished(() => worker.stop());
  const bytes = 48 * MiB;
  const run = {
    kind: "exec",
    argv: ["/bin/sh", "-c", `head -c ${bytes} /dev/zero | tr '\\0' c; echo end >&2`],
  };
  const { id } = await submitJob(hub, { type: "speaks", run, max_attempts: 1 });
  await eventually("the job waits", () =>
    warnings.some((line) => line.includes("the output of a job waits until there is room")),
  );

  mount(disk, "remount,size=256m");
  await eventually("the job is done", async () => (await viewOf(hub, id)).status === "completed");
  expect((await readOutput(hub, id)).equals(Buffer.alloc(bytes, "c"))).toBe(true);
  expect(await viewOf(hub, id)).toMatchObject({ attempt: 1, output: { stdout: bytes, stderr: 4 } });
}

async function fillWorkersDisk(): Promise<void> {
  const hub = await startTestHub(stillEnv);
  onTestFinished(() => hub.stop());
  const dir = mkdtempSync(join(tmpdir(), "writ-full-worker-"));
  const workDir = join(dir, "work");
  mkdirSync(workDir, { mode: 0o700 });
  mount(workDir, "size=256k,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", [workDir]);
    rmSync(dir, { recursive: true, force: true });
  });
  // What leads into the container stays on this machine.
  const programs = join(import.meta.dirname, "../../bin");
  const places = ["STATE", "LOG"].map((what) => `WRIT_AGENT_${what}_DIR=${join(dir, what)}`);
  const exec = ["env", `PATH=${programs}:${process.env["PATH"]}`, ...places];
  const containers = { byName: { box: { exec } }, env: {}, hubUrl: hub.url, ca: undefined };
  const type = "speaks";
  const worker = await startTestWorker(hub, { types: [type], settings: { workDir, containers } });
  onTestFinished(() => worker.stop());
  const script = `head -c ${MiB} /dev/zero | tr '\\0' c`;
  const run = { kind: "exec_per_job", worker_command: ["sh", "-c", script], container: "box" };
  const { id } = await submitJob(hub, { type, run });
  await eventually("the job is given back", async () => {
    const { text } = await hub.must("GET", `/jobs/${id}/events`, { token: hub.admin });
    return text.includes("its output could not be written: ENOSPC");
  });

  mount(workDir, "remount,size=16m");
  await eventually("the job is done", async () => (await viewOf(hub, id)).status === "completed");
  expect((await readOutput(hub, id)).equals(Buffer.alloc(MiB, "c"))).toBe(true);
}

async function viewOf(hub: TestHub, id: string): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
}

async function readOutput(hub: TestHub, id: string): Promise<Buffer> {
  return (await hub.must("GET", `/jobs/${id}/output/stdout`, { token: hub.admin })).bytes;
}

function mount(dir: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "writ-test", dir], { stdio: "pipe" });
}

/** A small disk of one's own takes root, and a container may forbid it even then. */
function mountObstacle(): string | null {
  const dir = mkdtempSync(join(tmpdir(), "writ-mount-"));
  try {
    mount(dir, "size=1m");
    execFileSync("umount", [dir]);
    return null;
  } catch (error) {
    return `no tmpfs can be mounted: ${(error as Error).message.split("\n").at(-2) ?? "no root"}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
