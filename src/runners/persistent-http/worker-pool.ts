import type { Timer } from "../../runtime/clock/clock.ts";
import { portInUse } from "../http-worker/connect-to-worker.ts";
import { logBytes } from "./worker-logs.ts";
import { notReady, type WorkerDeps, WorkerProcess } from "./worker-process.ts";
import { hasSameTerms, isSameWorker, type WorkerSpec } from "./worker-spec.ts";

/** A process and the number of jobs that use it. */
export type PooledWorker = {
  readonly process: WorkerProcess;
  /** Jobs that wait for it or are served by it. */
  users: number;
  /** Those of them that are being served. */
  serving: number;
  /** Whether it gets no more jobs and ends with its last one. */
  isRetired: boolean;
  idleTimer: Timer | undefined;
};

/** A process without jobs for this long is ended, so that others can have its memory and its port. */
const idleMs = 600_000;
/** Each takes memory and a port; when there are more, those that have nothing to do are ended. */
const workersMax = 64;
/** A process with a longer log of its own is replaced when it has nothing to do, and the next one has a new log. */
const logBytesMax = 10 * 1024 * 1024;

/**
 * The processes that serve jobs over HTTP: at most one for each port, and one for each kind of worker of a tenant.
 * Why: ADR 0044.
 */
export class WorkerPool {
  readonly #deps: WorkerDeps;
  readonly #byPort = new Map<number, PooledWorker>();
  /** Also those that were replaced and still have jobs. */
  readonly #all = new Set<PooledWorker>();

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  /** The process for these jobs; call `giveBack` in the end. Throws a RunFailure if its port belongs to another one. */
  take(spec: WorkerSpec): PooledWorker {
    const current = this.#byPort.get(spec.port);
    const worker = current !== undefined && this.#fits(current, spec) ? current : this.#add(spec, current);
    worker.users++;
    worker.idleTimer?.cancel();
    return worker;
  }

  async giveBack(worker: PooledWorker): Promise<void> {
    const { process } = worker;
    if ((await logBytes(process.logs)) > logBytesMax) worker.isRetired = true;
    worker.users--;
    if (worker.users > 0) return;
    if (process.isOver) return this.#remove(worker);
    if (worker.isRetired) return this.retire(worker);
    worker.idleTimer = this.#deps.clock.setTimer(() => this.retire(worker), idleMs);
  }

  /** Ends it as soon as it has no job. */
  retire(worker: PooledWorker): void {
    worker.isRetired = true;
    if (worker.users > 0) return;
    const { logger, settings } = this.#deps;
    const { id, spec } = worker.process;
    // Not awaited, so the error is handled here.
    const onStuck = (error: unknown): void =>
      logger.error({ err: error, worker: id, port: spec.port }, "a worker process cannot be ended");
    void worker.process
      .stop("it has nothing to do", settings.stopGraceMs)
      .then(() => this.#remove(worker))
      .catch(onStuck);
  }

  /** Ends all of them. */
  async close(hurry: AbortSignal): Promise<void> {
    const stopAll = (graceMs: number) =>
      Promise.all([...this.#all].map(({ process }) => process.stop("the worker is stopping", graceMs)));
    // What cannot be ended is reported by the stop below, which waits for the same processes.
    const stopNow = (): void => void stopAll(0).catch(() => {});
    hurry.addEventListener("abort", stopNow);
    await stopAll(hurry.aborted ? 0 : this.#deps.settings.stopGraceMs);
    hurry.removeEventListener("abort", stopNow);
    for (const worker of this.#all) if (worker.users === 0) await this.#remove(worker);
  }

  #fits(current: PooledWorker, spec: WorkerSpec): boolean {
    const { process, isRetired, users } = current;
    if (process.isOver) return false;
    if (isSameWorker(process.spec, spec)) return !isRetired && hasSameTerms(process.spec, spec);
    // A tenant must not learn what another one runs, nor end it.
    if (process.spec.tenantId !== spec.tenantId) throw notReady(portInUse(spec.port));
    if (users > 0) throw notReady(portBusy(current, spec));
    return false;
  }

  #add(spec: WorkerSpec, predecessor: PooledWorker | undefined): PooledWorker {
    if (predecessor !== undefined) this.retire(predecessor);
    if (this.#all.size >= workersMax) this.#endOneWithoutJobs();
    const process = new WorkerProcess(this.#deps, spec, predecessor?.process.gone ?? Promise.resolve());
    const worker: PooledWorker = { process, users: 0, serving: 0, isRetired: false, idleTimer: undefined };
    this.#byPort.set(spec.port, worker);
    this.#all.add(worker);
    return worker;
  }

  #endOneWithoutJobs(): void {
    const idle = [...this.#all].find(({ users, isRetired }) => users === 0 && !isRetired);
    if (idle !== undefined) this.retire(idle);
  }

  async #remove(worker: PooledWorker): Promise<void> {
    if (!this.#all.delete(worker)) return;
    const { process } = worker;
    worker.idleTimer?.cancel();
    if (this.#byPort.get(process.spec.port) === worker) this.#byPort.delete(process.spec.port);
    await process.clearUp();
  }
}

function portBusy({ process, users }: PooledWorker, wanted: WorkerSpec): string {
  const isSameCommand = process.spec.command.join("\0") === wanted.command.join("\0");
  const difference = isSameCommand ? ", started with other secrets," : "";
  const jobs = users === 1 ? "a job" : `${users} jobs`;
  return `${process.who}${difference} still has ${jobs}; use another port, or wait until it has none`;
}
