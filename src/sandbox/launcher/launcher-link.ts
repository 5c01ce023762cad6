import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { type FileHandle, open } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/clock/clock.ts";
import { type CageRights, rightsIn } from "../cage-rights.ts";
import { errnoName } from "./exit-report.ts";
import type { StartAnswer } from "./launched-job.ts";
import { LaunchedJobs, type TakeListener } from "./launched-jobs.ts";
import {
  encodeClose,
  encodeOpen,
  encodePing,
  encodeStart,
  type Frame,
  FrameReader,
  fieldText,
  fieldU32,
} from "./launcher-frames.ts";
import { LauncherLost } from "./launcher-lost.ts";
import { frame, type LauncherPlan, openHow, protocol, tag } from "./launcher-protocol.ts";
import { LauncherPulse } from "./launcher-pulse.ts";

/** Called when the disk is full, so that the output of a job waits for room; at most once for each job. */
export type OnStalled = (code: string) => void;

/** The last is the channel over which it hands us sockets; hand-over.c writes what Node reads there. */
const launcherStdio = ["ignore", "ignore", "pipe", "pipe", "ipc"] as const satisfies StdioOptions;
const readyMs = 5_000;
/** The launcher gives its jobs 10 s to die; after that it may be killed. */
const stopMs = 12_000;
const stderrCharsMax = 2_000;
/** Only for a launcher whose last messages are delayed; otherwise its end is known long before. */
const finalMessagesMs = 2_000;

/** One running launcher process, and the jobs that it serves. When it dies, all of them are lost. */
export class LauncherLink {
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #jobs = new LaunchedJobs();
  readonly #opens = new Map<number, PromiseWithResolvers<number>>();
  readonly #ready = Promise.withResolvers<CageRights>();
  readonly rights = this.#ready.promise;
  readonly #gone = Promise.withResolvers<string>();
  readonly #pulse: LauncherPulse;
  readonly #onStalled: OnStalled;
  #lastId = 0;
  #fadeReason: string | undefined;
  #fadeTimer: NodeJS.Timeout | undefined;
  #deathReason: string | undefined;
  #stderr = "";
  #hasServed = false;

  /** Resolves when the launcher has reported that it is ready and uses this protocol version. */
  static async open(file: string, clock: Clock, onStalled: OnStalled = () => {}): Promise<LauncherLink> {
    const link = new LauncherLink(file, clock, onStalled);
    const timer = setTimeout(() => link.#die(`it was not ready within ${readyMs} ms`), readyMs);
    try {
      await link.#ready.promise;
      return link;
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(file: string, clock: Clock, onStalled: OnStalled) {
    this.#onStalled = onStalled;
    // An empty environment: the launcher reads none, so none can be passed to it.
    this.#child = spawn(file, [], { cwd: "/", env: {}, stdio: launcherStdio });
    this.#socket = this.#child.stdio[3] as Socket;
    // `open` reports the failure; nothing else may wait for it.
    this.#ready.promise.catch(() => {});
    this.#pulse = new LauncherPulse({
      clock,
      isBusy: () => !this.#isIdle,
      ask: () => this.#socket.write(encodePing()),
      onSilent: (reason) => this.#die(reason),
    });
    this.#child.once("error", (error) => this.#die(error.message));
    this.#child.once("exit", (code, signal) => this.#fade(`it ended with ${signal ?? `status ${code}`}`));
    this.#child.once("close", () => this.#die(this.#fadeReason ?? "it ended"));
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#stderr = (this.#stderr + String(bytes)).slice(-stderrCharsMax);
    });
    this.#child.on("message", (message, handle) => this.#jobs.takeListener(message, handle));
    this.#child.channel?.unref();
    this.#socket.on("data", (bytes: Buffer) => this.#hear(bytes));
    this.#socket.on("error", (error) => this.#die(error.message));
    this.#socket.on("close", () => this.#fade(this.#fadeReason ?? "it hung up"));
    this.#child.unref();
    (this.#child.stderr as Socket | null)?.unref();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the reason when this launcher serves no more. */
  get gone(): Promise<string> {
    return this.#gone.promise;
  }

  get isGone(): boolean {
    return this.#deathReason !== undefined;
  }

  /** Whether any job has ended here. A launcher that never served one is not restarted at once. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** Rejects with PlanRefused if the plan cannot be encoded, and with LauncherLost if there is no launcher. */
  async start(plan: LauncherPlan, takeListener?: TakeListener): Promise<StartAnswer> {
    const id = this.#nextId();
    const bytes = encodeStart(id, plan);
    if (this.#deathReason !== undefined) throw new LauncherLost(this.#deathReason);
    const started = this.#jobs.add(id, takeListener);
    this.#keepAlive();
    this.#socket.write(bytes);
    return started;
  }

  /** Opens a file beneath a directory, never through a link. Rejects with the kernel's code. */
  async openBeneath(dir: string, path: string, how: number): Promise<FileHandle> {
    if (this.#deathReason !== undefined) throw new LauncherLost(this.#deathReason);
    const id = this.#nextId();
    const answer = Promise.withResolvers<number>();
    const bytes = encodeOpen(id, { dir, path, how });
    this.#opens.set(id, answer);
    this.#keepAlive();
    this.#socket.write(bytes);
    const fd = await answer.promise;
    try {
      return await open(`/proc/${this.pid}/fd/${fd}`, (how & openHow.CREATE) !== 0 ? "r+" : "r");
    } finally {
      if (!this.isGone) this.#socket.write(encodeClose(id, fd));
    }
  }

  /** Ends the launcher and everything that it started; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#child.ref();
    const exited = new Promise<void>((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined)
        resolve();
      else this.#child.once("exit", () => resolve());
    });
    this.#socket.destroy();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopMs);
    await exited;
    clearTimeout(timer);
    this.#die("it was stopped");
  }

  #hear(bytes: Buffer): void {
    try {
      for (const one of this.#reader.push(bytes)) this.#take(one);
    } catch (error) {
      this.#die((error as Error).message);
    }
  }

  #take(one: Frame): void {
    this.#pulse.answered();
    if (one.type === frame.READY) this.#takeReady(one);
    else if (one.type === frame.STARTED) this.#jobs.started(one, (bytes) => this.#socket.write(bytes));
    else if (one.type === frame.FAILED) this.#takeFailed(one);
    else if (one.type === frame.EXITED) this.#takeExited(one);
    else if (one.type === frame.OPENED || one.type === frame.OPEN_FAILED) this.#takeOpened(one);
    else if (one.type === frame.PROTOCOL_ERROR) this.#die(`protocol error: ${fieldText(one, tag.MESSAGE)}`);
    else if (one.type === frame.STALLED) this.#onStalled(errnoName(fieldU32(one, tag.ERRNO) ?? 0));
    else if (one.type !== frame.PONG) this.#die(`it sent an unknown message (${one.type})`);
  }

  #takeReady(one: Frame): void {
    const version = fieldU32(one, tag.VERSION);
    if (version === protocol.PROTOCOL_VERSION) {
      this.#socket.unref();
      this.#ready.resolve(rightsIn(one));
    } else
      this.#die(
        `it uses protocol version ${version} and not ${protocol.PROTOCOL_VERSION}; run \`npm run setup\``,
      );
  }

  #takeFailed(one: Frame): void {
    this.#jobs.failed(one);
    this.#restIfIdle();
  }

  #takeExited(one: Frame): void {
    this.#hasServed = true;
    this.#jobs.exited(one, (bytes) => this.#socket.write(bytes));
    this.#restIfIdle();
  }

  #takeOpened(one: Frame): void {
    const answer = this.#opens.get(one.id);
    this.#opens.delete(one.id);
    if (one.type === frame.OPENED) answer?.resolve(fieldU32(one, tag.FD) ?? -1);
    else {
      const code = errnoName(fieldU32(one, tag.ERRNO) ?? 0);
      answer?.reject(
        Object.assign(new Error(`${code}: the file cannot be opened beneath its directory`), { code }),
      );
    }
    this.#restIfIdle();
  }

  /** A program that waits for a job must not end meanwhile; one that waits for none may. */
  #keepAlive(): void {
    this.#socket.ref();
    this.#pulse.watch();
  }

  #restIfIdle(): void {
    if (this.#isIdle) this.#socket.unref();
  }

  get #isIdle(): boolean {
    return this.#jobs.size === 0 && this.#opens.size === 0;
  }

  #nextId(): number {
    // An id is reused after four billion starts; by then its first owner is long gone.
    this.#lastId = (this.#lastId % 0xffff_ffff) + 1;
    return this.#lastId;
  }

  /** The launcher has ended, but its last messages and its exit status may still arrive. */
  #fade(reason: string): void {
    // One more turn of the event loop: a loop that was blocked for that long has not read the last messages yet.
    this.#fadeTimer ??= setTimeout(() => setImmediate(() => this.#die(this.#fadeReason!)), finalMessagesMs);
    this.#fadeReason = reason;
  }

  #die(reason: string): void {
    clearTimeout(this.#fadeTimer);
    if (this.#deathReason !== undefined) return;
    const said = this.#stderr.trim().split("\n").at(-1);
    const why = said ? `${reason} (${said})` : reason;
    this.#deathReason = why;
    this.#pulse.stop();
    this.#child.kill("SIGKILL");
    this.#socket.destroy();
    const error = new LauncherLost(why);
    this.#ready.reject(error);
    this.#jobs.lose(error);
    for (const answer of this.#opens.values()) answer.reject(error);
    this.#opens.clear();
    this.#gone.resolve(why);
  }
}
