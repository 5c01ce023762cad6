import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker as Thread,
} from "node:worker_threads";
import type { DisconnectAct } from "../../core/jobs/document.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { HttpClientOptions } from "../../runtime/http/http-client.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Service } from "../../runtime/service.ts";
import type { Usage } from "../../sandbox/sandbox.ts";
import type { Lease } from "../../signing/lease.ts";
import { machineMonotonicMs } from "../machine-clock.ts";
import { KeptLeases } from "./kept-leases.ts";
import type { KeeperMessage, KeptLease, LeaseChange } from "./lease-keeper.ts";

type WorkerStatus = "active" | "draining";

export type HeartbeatThreadData = {
  connection: Pick<HttpClientOptions, "baseUrls" | "token" | "ca" | "allowInsecure" | "frames" | "userAgent">;
  workerId: string;
  bootId: string;
  heartbeatMs: number;
  hubAwayMs: number;
  status: WorkerStatus;
  /** Where the thread posts its KeeperMessages. */
  messages: MessagePort;
};

export type HeartbeatOrder =
  | ({ kind: "update" } & LeaseChange)
  | { kind: "status"; status: WorkerStatus }
  | { kind: "stop" };

export type HeartbeatOptions = Omit<HeartbeatThreadData, "status" | "messages"> & {
  clock: Clock;
  logger: Logger;
  onMessage(message: KeeperMessage): void;
};

/** The interface of the part that renews leases. */
export type WorkerHeartbeat = Service &
  Pick<Heartbeat, "hold" | "drop" | "setProcess" | "catchUp" | "mayStart" | "setStatus">;

/** A lease lasts at least a second, so a thread that learns of it this late has enough time. */
const flushMs = 50;
const restartMs = 500;

/**
 * The main thread's side of the heartbeat. Held and dropped leases are passed on a few times a second, because most
 * jobs of a fast worker start and end in between and never need to be known; process ids are passed on at once.
 */
export class Heartbeat implements Service {
  readonly name = "heartbeat";
  readonly #options: HeartbeatOptions;
  readonly #leases = new KeptLeases(machineMonotonicMs);
  readonly #changed = new Set<string>();
  /** The keys of leases that the thread knows. */
  #known = new Set<string>();
  #thread: Thread | undefined;
  #messages: MessagePort | undefined;
  #flushTimer: Timer | undefined;
  /** Functions that return the present usage of a process. */
  readonly #usages = new Map<string, () => Usage>();
  #usageTimer: Timer | undefined;
  #status: WorkerStatus = "active";
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#startThread();
    this.#askUsages();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#flushTimer?.cancel();
    this.#usageTimer?.cancel();
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#post({ kind: "stop" });
    await thread.terminate();
    this.#messages?.close();
  }

  hold(key: string, lease: Lease, onDisconnect: DisconnectAct): void {
    this.#leases.hold(key, lease, onDisconnect);
    this.#change(key);
  }

  drop(key: string): void {
    this.#leases.drop(key);
    this.#usages.delete(key);
    this.#change(key);
  }

  /** Sets the process group that must not outlive the lease; 0 when it has ended. */
  setProcess(key: string, pid: number, usage?: () => Usage): void {
    const lease = this.#leases.get(key);
    if (lease === undefined) return;
    lease.pid = pid;
    if (usage === undefined) this.#usages.delete(key);
    else this.#usages.set(key, usage);
    if (this.#known.has(key)) this.#post({ kind: "update", pids: [[key, pid]] });
    else this.#flush();
  }

  /**
   * Receives the messages that the thread has sent so far. The thread reports that a lease is lost before it kills the
   * process, but the end of the process may reach this loop first.
   */
  catchUp(): void {
    if (this.#messages === undefined) return;
    for (;;) {
      const received = receiveMessageOnPort(this.#messages) as { message: KeeperMessage } | undefined;
      if (received === undefined) return;
      this.#hear(received.message);
    }
  }

  /**
   * Whether an attempt that is about to start is still this worker's. It may have waited while this loop was busy, so
   * the thread's messages are received first. A lease that was not renewed meanwhile may belong to another worker.
   */
  mayStart(key: string): boolean {
    if (this.#known.has(key)) this.catchUp();
    return this.#leases.isCurrent(key);
  }

  setStatus(status: WorkerStatus): void {
    this.#status = status;
    this.#post({ kind: "status", status });
  }

  #startThread(): void {
    const { connection, workerId, bootId, heartbeatMs, hubAwayMs, logger } = this.#options;
    const status = this.#status;
    const { port1, port2: messages } = new MessageChannel();
    const own = { workerId, bootId, heartbeatMs, hubAwayMs, status };
    const workerData: HeartbeatThreadData = { connection, ...own, messages };
    const thread = new Thread(new URL("./heartbeat-thread.ts", import.meta.url), {
      workerData,
      transferList: [messages],
      name: "heartbeat",
      env: {},
      execArgv: [],
    });
    this.#thread = thread;
    this.#messages = port1;
    port1.on("message", (message: KeeperMessage) => this.#hear(message));
    this.#known = new Set();
    for (const key of this.#leases.keys()) this.#changed.add(key);
    this.#flush();
    thread.on("error", (error) =>
      logger.error({ err: error }, "the heartbeat thread failed; starting another"),
    );
    thread.on("exit", () => this.#restart(thread));
  }

  #hear(message: KeeperMessage): void {
    // A thread that has to take over must know what was renewed since the claims.
    if (message.kind === "answer") this.#leases.noteRenewal(message);
    this.#options.onMessage(message);
  }

  #change(key: string): void {
    this.#changed.add(key);
    this.#flushTimer ??= this.#options.clock.setTimer(() => this.#flush(), flushMs);
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    if (this.#changed.size === 0 || this.#thread === undefined) return;
    const hold: KeptLease[] = [];
    const drop: string[] = [];
    for (const key of this.#changed) {
      const lease = this.#leases.get(key);
      if (lease !== undefined && !this.#known.has(key)) {
        hold.push(lease);
        this.#known.add(key);
      } else if (lease === undefined && this.#known.delete(key)) drop.push(key);
    }
    this.#changed.clear();
    if (hold.length + drop.length > 0) this.#post({ kind: "update", hold, drop });
  }

  /** Collects the usage of each process for the next heartbeat. */
  #askUsages(): void {
    const usages = [...this.#usages]
      .filter(([key]) => this.#known.has(key))
      .map(([key, usage]): [string, Usage] => [key, usage()])
      .filter(([, usage]) => Object.keys(usage).length > 0);
    if (usages.length > 0) this.#post({ kind: "update", usages });
    this.#usageTimer = this.#options.clock.setTimer(() => this.#askUsages(), this.#options.heartbeatMs);
  }

  #post(order: HeartbeatOrder): void {
    this.#thread?.postMessage(order);
  }

  #restart(thread: Thread): void {
    if (this.#isStopped || this.#thread !== thread) return;
    this.#thread = undefined;
    this.#messages = undefined;
    this.#options.clock.setTimer(() => {
      if (!this.#isStopped) this.#startThread();
    }, restartMs);
  }
}
