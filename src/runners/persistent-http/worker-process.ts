import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { DiscardFolder } from "../../sandbox/discard-folder.ts";
import type { LaunchPlan, ProcessExit, RunningProcess } from "../../sandbox/sandbox.ts";
import { createTerminator, type Terminator } from "../../sandbox/terminate.ts";
import { portInUse, socketPathBytesMax, workerConnections } from "../http-worker/connect-to-worker.ts";
import { HttpWorkerClient } from "../http-worker/http-worker-client.ts";
import { listenersOn } from "../http-worker/listeners.ts";
import { shareNext } from "../http-worker/share-next.ts";
import { serverEnvironment } from "../process-environment.ts";
import { RunFailure, type RunnerDeps } from "../runner.ts";
import { FifoStock } from "./fifo-stock.ts";
import type { RunningList } from "./running-list.ts";
import { rotateLogs, type WorkerLogs, workerLogs } from "./worker-logs.ts";
import type { WorkerSpec } from "./worker-spec.ts";

export type WorkerDeps = RunnerDeps & {
  /** Where jobs have their files. */
  workDir: string;
  /** Where worker processes have their logs. */
  logDir: string;
  discards: Pick<DiscardFolder, "discard">;
  newId(): string;
  /** Of the processes that run. */
  list: RunningList;
};

/** How a process ended. */
type ProcessEnd = {
  /** Undefined if it was never started. */
  exit: ProcessExit | undefined;
  /** Why it was ended from here; undefined if it ended by itself. */
  stoppedBecause: string | undefined;
};

/** The result of a check of a process: `busy` may change by itself, and `lost` does not. */
type ProcessCheck = { kind: "ready" } | { kind: "busy" | "lost"; problem: string };

/** Loading a large model takes a while. A job that cannot wait this long has a timeout of its own. */
const readyMs = 120_000;
const nameCharsMax = 80;
/** In the folder of the process, which no other process sees. */
const socketName = "worker.sock";

/**
 * One process that serves jobs over HTTP, from its start to its end. Its files are where those of a job would be, under
 * an id that no job has: so whatever a killed worker leaves of it is cleared up at the next start, like everything else.
 * Why: ADR 0044.
 */
export class WorkerProcess {
  readonly id: string;
  readonly spec: WorkerSpec;
  /** As messages name it. */
  readonly who: string;
  readonly client: HttpWorkerClient;
  /** The log that the process itself writes. */
  readonly logs: WorkerLogs;
  readonly fifos: FifoStock;
  readonly #deps: WorkerDeps;
  readonly #dir: string;
  readonly #workDir: string;
  readonly #socketFile: string;
  readonly #predecessor: Promise<unknown>;
  readonly #gone = Promise.withResolvers<ProcessEnd>();
  readonly #starting = new AbortController();
  #ready: Promise<void> | undefined;
  #running: RunningProcess | undefined;
  #terminator: Terminator<string> | undefined;
  #shared: FileHandle | undefined;
  #stoppedBecause: string | undefined;
  #isOver = false;

  /** `predecessor` resolves when the port is free: it is started then, and not before `whenReady` is called. */
  constructor(deps: WorkerDeps, spec: WorkerSpec, predecessor: Promise<unknown>) {
    this.#deps = deps;
    this.#predecessor = predecessor;
    this.id = deps.newId();
    this.spec = spec;
    this.who = nameOf(spec);
    this.logs = workerLogs(deps.logDir, spec);
    this.#dir = join(deps.workDir, "jobs", this.id);
    this.#workDir = join(this.#dir, "work");
    this.#socketFile = join(this.#workDir, socketName);
    const pids = async () => (await this.#running?.pids()) ?? [];
    const pidInside = () => (this.#hasOwnNetwork ? this.#running?.pid : undefined);
    const address = { port: spec.port, socketFile: this.#socketFile, pids, pidInside };
    this.client = new HttpWorkerClient(deps.clock, workerConnections(deps.clock, address), this.who);
    this.fifos = new FifoStock(join(this.#dir, "pipes"));
  }

  /** Undefined before the start. */
  get running(): RunningProcess | undefined {
    return this.#running;
  }

  /** Resolves when nothing of it runs any more. */
  get gone(): Promise<ProcessEnd> {
    return this.#gone.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Where its jobs have their folders: by descriptor, because the process can replace the names on the way. */
  get sharedDir(): string {
    return `/proc/self/fd/${this.#shared!.fd}`;
  }

  get sharedDirInside(): string {
    return join(this.#deps.sandbox.workDirInside(this.#workDir), "jobs");
  }

  /**
   * Starts it, once, and resolves when it is ready for jobs. Rejects with a RunFailure, with SandboxUnavailable, or with
   * ProcessEnded: then `gone` says more.
   */
  whenReady(): Promise<void> {
    this.#ready ??= this.#start();
    return this.#ready;
  }

  /** Checks whether it can get a job now. Callers during a check share the next check. */
  readonly look = shareNext(() => this.#look());

  /** Ends it, with all its jobs; the first reason wins. Resolves when it is gone. */
  async stop(because: string, graceMs: number): Promise<void> {
    this.#stoppedBecause ??= because;
    this.#starting.abort();
    if (this.#ready === undefined) this.#end(undefined);
    await this.#terminator?.stop(because, { graceMs });
    await this.gone;
  }

  /** Call it when it is gone and its last job has taken back what it shared. */
  async clearUp(): Promise<void> {
    await this.#shared?.close();
    await this.#deps.discards.discard(this.#dir, this.id);
  }

  async #look(): Promise<ProcessCheck> {
    if (this.#isOver || this.#running === undefined)
      return { kind: "lost", problem: `${this.who} has ended` };
    try {
      const problem = await this.client.findProblem();
      if (problem === null) return { kind: "ready" };
      if (!this.#isListening) return { kind: "lost", problem: `${this.who} does not listen there` };
      return { kind: "busy", problem };
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error;
      return { kind: "lost", problem: error.message };
    }
  }

  get #hasOwnNetwork(): boolean {
    return this.#running?.isolation.applied.includes("network") ?? false;
  }

  /** Whether it listens, as far as that can be seen: sockets in a network of its own cannot. */
  get #isListening(): boolean {
    return this.#hasOwnNetwork || existsSync(this.#socketFile) || listenersOn(this.spec.port).length > 0;
  }

  async #start(): Promise<void> {
    const { signal } = this.#starting;
    try {
      await this.#predecessor;
      const running = await this.#launch(signal);
      const ready = this.client.waitUntilReady({ withinMs: readyMs, signal });
      await Promise.race([ready, running.exited.then(() => Promise.reject(new ProcessEnded()))]);
    } catch (error) {
      this.#starting.abort();
      if (this.#running === undefined) this.#end(undefined);
      else await this.#terminator?.stop("not ready", { graceMs: 0 });
      await this.gone;
      throw this.#stoppedBecause === undefined ? this.#startFailure(error) : new ProcessEnded();
    }
  }

  /** Most programs that find their port taken only end. */
  #startFailure(error: unknown): unknown {
    if (!(error instanceof ProcessEnded) || this.#hasOwnNetwork) return error;
    const { port } = this.spec;
    const listeners = listenersOn(port);
    return listeners.length === 0 ? error : notReady(portInUse(port, listeners));
  }

  async #launch(signal: AbortSignal): Promise<RunningProcess> {
    const { sandbox, clock } = this.#deps;
    const jobsDir = join(this.#workDir, "jobs");
    await mkdir(jobsDir, { recursive: true, mode: 0o700 });
    this.#shared = await open(jobsDir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    await rotateLogs(this.logs);
    signal.throwIfAborted();
    const running = await sandbox.start(this.#plan());
    this.#running = running;
    this.#announce(running.pid);
    this.#terminator = createTerminator(running, clock);
    void running.exited.then((exit) => this.#end(exit));
    return running;
  }

  #announce(pid: number): void {
    const { tenantId, command, port } = this.spec;
    const log = this.logs.err;
    this.#deps.logger.info(
      { worker: this.id, tenant: tenantId, port, pid, log },
      "a worker process has started",
    );
    const started = { tenant_id: tenantId, port, command: [...command], pid, socket: this.#socketFile };
    this.#deps.list.add(this.id, { ...started, started_at: this.#deps.clock.nowMs(), log });
  }

  #plan(): LaunchPlan {
    const { spec, logs } = this;
    return {
      jobId: this.id,
      attempt: 1,
      argv: [...spec.command],
      env: serverEnvironment({ ...spec, socketFile: this.#socketFileInside() }),
      cwd: this.#deps.sandbox.workDirInside(this.#workDir),
      stdoutFile: logs.out,
      stderrFile: logs.err,
      outputBytesMax: this.#deps.settings.outputBytesMax,
      masks: spec.masks,
      ...spec.asked,
      workDir: this.#workDir,
    };
  }

  /** The path of a socket has at most 107 bytes; without a cage it may be longer, and the process starts in its folder. */
  #socketFileInside(): string {
    const file = join(this.#deps.sandbox.workDirInside(this.#workDir), socketName);
    return Buffer.byteLength(file) <= socketPathBytesMax ? file : socketName;
  }

  #end(exit: ProcessExit | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#gone.resolve({ exit, stoppedBecause: this.#stoppedBecause });
    const { exitCode, signal } = exit ?? {};
    const facts = { worker: this.id, port: this.spec.port, exitCode, signal, because: this.#stoppedBecause };
    this.#deps.logger.info(facts, "a worker process has ended");
    this.#deps.list.remove(this.id);
  }
}

/** The process ended before it was ready. */
export class ProcessEnded extends Error {}

export function notReady(problem: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "WORKER_NOT_READY", problem);
}

function nameOf({ command, port }: WorkerSpec): string {
  const words = command.join(" ");
  const name = words.length > nameCharsMax ? `${words.slice(0, nameCharsMax)}…` : words;
  return `the worker ${JSON.stringify(name)} on port ${port}`;
}
