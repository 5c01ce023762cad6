import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { RunFailure } from "../../runners/runner.ts";
import { lockFile } from "../../runtime/files/file-lock.ts";
import { makeDir } from "../../runtime/files/make-dir.ts";
import { killProcessTree } from "../../sandbox/plain/process-tree.ts";
import type { AgentDeps } from "../agent-deps.ts";
import { stopGraceMs } from "../agent-job.ts";
import { workerFiles } from "../agent-settings.ts";
import { isAlive, signalProcess } from "./process-identity.ts";
import {
  isPortTaken,
  noteWorkerStatus,
  readWorkerState,
  type WantedWorker,
  type WorkerState,
  workerClient,
  workerSubject,
} from "./worker-state.ts";

/** How long a worker may take until it serves jobs. */
const readyMs = 120_000;
/** A worker that is busy may miss an answer. */
const checksMax = 3;
const lookMs = 20;
/** How often a worker that takes no jobs for now is asked again. */
const busyLookMs = 200;
const keeperMs = 5_000;

/** The worker for a job: the one that runs already, or a new one. A failure is a RunFailure with WORKER_NOT_READY. */
export async function findWorker(
  deps: AgentDeps,
  wanted: WantedWorker,
  signal: AbortSignal,
): Promise<WorkerState> {
  const running = await readyWorker(deps, wanted, { signal, checks: 1, busyMs: readyMs });
  return running ?? underLock(deps, wanted, signal, () => checkOrStart(deps, wanted, signal));
}

/** Ends a worker with everything that it started; resolves when it has ended. */
export async function stopWorker(deps: AgentDeps, worker: WorkerState): Promise<void> {
  const { clock } = deps;
  signalProcess(worker.keeper, "SIGTERM");
  const endsAtMs = clock.monotonicMs() + 2 * stopGraceMs;
  while (isAlive(worker) && isAlive(worker.keeper) && clock.monotonicMs() < endsAtMs)
    await clock.sleep(lookMs);
  if (isAlive(worker)) await killProcessTree(worker.pid);
}

async function checkOrStart(
  deps: AgentDeps,
  wanted: WantedWorker,
  signal: AbortSignal,
): Promise<WorkerState> {
  const ready = await readyWorker(deps, wanted, { signal, checks: checksMax, busyMs: 0 });
  if (ready !== null) return ready;
  const sick = await readWorkerState(deps.settings, wanted.port);
  if (sick !== null && isAlive(sick)) {
    deps.log.error(workerSubject(wanted.port), `not healthy, and therefore restarted pid=${sick.pid}`);
    await noteWorkerStatus(deps.settings, sick, { status: "unhealthy", nowMs: deps.clock.nowMs() });
    await stopWorker(deps, sick);
  }
  if (isPortTaken(wanted.port))
    throw notReady(`port ${wanted.port} is used by a process that is not a worker of this agent`);
  if (sick !== null) await keeperEnd(deps, sick);
  return startWorker(deps, wanted, signal);
}

/** The keeper of the last worker records its end, and must not do so over the state of the next one. */
async function keeperEnd({ clock }: AgentDeps, { keeper }: WorkerState): Promise<void> {
  const endsAtMs = clock.monotonicMs() + keeperMs;
  while (isAlive(keeper) && clock.monotonicMs() < endsAtMs) await clock.sleep(lookMs);
  signalProcess(keeper, "SIGKILL");
}

/**
 * The worker that runs, if it is the right one and answers; null when one has to be started. One that answers, but takes no
 * jobs for now, is waited for: it is busy with others, which must not be ended for this one.
 */
async function readyWorker(
  { settings, clock }: AgentDeps,
  wanted: WantedWorker,
  { signal, checks, busyMs }: { signal: AbortSignal; checks: number; busyMs: number },
): Promise<WorkerState | null> {
  const worker = await readWorkerState(settings, wanted.port);
  if (worker === null || !isAlive(worker)) return null;
  if (worker.fingerprint !== wanted.fingerprint) throw notReady(otherWorker(worker, wanted));
  const endsAtMs = clock.monotonicMs() + busyMs;
  for (let misses = 0; misses < checks; ) {
    const client = workerClient({ settings, clock }, worker);
    if (await client.isReady(signal).catch(strangerIsNotReady)) {
      await noteWorkerStatus(settings, worker, { status: "ready", nowMs: clock.nowMs() });
      return worker;
    }
    const isBusy = client.lastStatus !== undefined && clock.monotonicMs() < endsAtMs;
    if (isBusy) await clock.sleep(busyLookMs, signal);
    else misses++;
  }
  return null;
}

function strangerIsNotReady(error: unknown): boolean {
  if (error instanceof RunFailure) return false;
  throw error;
}

function otherWorker(worker: WorkerState, wanted: WantedWorker): string {
  const isSame = worker.command.join("\0") === wanted.command.join("\0");
  const why = isSame
    ? "one with other secrets or of another tenant"
    : `another one: ${worker.command.join(" ")}`;
  return `the worker on port ${wanted.port} is ${why}`;
}

async function startWorker(deps: AgentDeps, wanted: WantedWorker, signal: AbortSignal): Promise<WorkerState> {
  await startKeeper(deps, wanted);
  const worker = (await readWorkerState(deps.settings, wanted.port))!;
  const over = new AbortController();
  const stop = AbortSignal.any([over.signal, signal]);
  try {
    const isReady = workerClient(deps, worker).waitUntilReady({ withinMs: readyMs, signal: stop });
    await Promise.race([isReady, endedEarly(deps, worker, stop)]);
    await noteWorkerStatus(deps.settings, worker, { status: "ready", nowMs: deps.clock.nowMs() });
    return worker;
  } catch (error) {
    // No later job could find it in a known condition.
    await stopWorker(deps, worker);
    throw error;
  } finally {
    over.abort();
  }
}

/** Starts the process that keeps the worker. It holds none of our descriptors, so that our caller need not wait. */
async function startKeeper({ program, cwd, env }: AgentDeps, wanted: WantedWorker): Promise<void> {
  const keeper = spawn(program.execPath, [program.file, "keep-worker"], {
    cwd,
    env: { ...env },
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  keeper.on("error", () => {});
  keeper.stdin.on("error", () => {});
  keeper.stdin.end(JSON.stringify(wanted));
  const line = await firstLine(keeper.stdout);
  keeper.stdout.destroy();
  keeper.unref();
  const { error } = JSON.parse(line || '{"error":"its keeper could not be started"}') as { error?: string };
  if (error === undefined) return;
  const command = wanted.command[0] ?? "";
  const why = error === "ENOENT" ? `command not found: ${command}` : `${command} cannot be started: ${error}`;
  throw new RunFailure("EXECUTION_ERROR", "SPAWN_FAILED", why);
}

async function firstLine(stream: Readable): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  return "";
}

async function endedEarly(
  { settings, clock }: AgentDeps,
  worker: WorkerState,
  signal: AbortSignal,
): Promise<never> {
  while (isAlive(worker)) await clock.sleep(lookMs, signal);
  throw notReady(`the worker ${await endOfWorker({ settings, clock }, worker)} before it was ready`);
}

/** How a worker ended, as its keeper records it a moment later. */
export async function endOfWorker(
  { settings, clock }: Pick<AgentDeps, "settings" | "clock">,
  worker: WorkerState,
): Promise<string> {
  const endsAtMs = clock.monotonicMs() + keeperMs;
  while (isAlive(worker.keeper) && clock.monotonicMs() < endsAtMs) await clock.sleep(lookMs);
  const state = await readWorkerState(settings, worker.port);
  return (state?.pid === worker.pid ? state.end : null) ?? "ended";
}

async function underLock<T>(
  { settings, clock }: AgentDeps,
  { port }: WantedWorker,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  const path = workerFiles(settings, port).lock;
  makeDir(dirname(path));
  const lock = await lockFile(path, { clock, waitMs: 2 * readyMs, signal });
  if (lock === null) throw notReady(`another call has been starting the worker on port ${port} for too long`);
  try {
    return await act();
  } finally {
    lock.release();
  }
}

function notReady(reason: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "WORKER_NOT_READY", reason);
}
