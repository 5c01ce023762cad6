import { Server } from "node:net";
import { errnoName, exitReport } from "./exit-report.ts";
import type { JobEnd, StartAnswer } from "./launched-job.ts";
import { encodeKill, encodeSignal, type Frame, fieldText, fieldU32 } from "./launcher-frames.ts";
import { LauncherLost } from "./launcher-lost.ts";
import { tag } from "./launcher-protocol.ts";

/** Takes the socket that listens in the network of a job. */
export type TakeListener = (server: Server) => void;

type Waiting = {
  start: PromiseWithResolvers<StartAnswer>;
  end: PromiseWithResolvers<JobEnd>;
  takeListener: TakeListener | undefined;
};

type Send = (bytes: Buffer) => void;

/** The jobs that one launcher serves, and what their callers wait for. */
export class LaunchedJobs {
  readonly #jobs = new Map<number, Waiting>();

  get size(): number {
    return this.#jobs.size;
  }

  /** Resolves when the launcher says that the job runs, or why it does not. */
  add(id: number, takeListener: TakeListener | undefined): Promise<StartAnswer> {
    const waiting: Waiting = { start: Promise.withResolvers(), end: Promise.withResolvers(), takeListener };
    this.#jobs.set(id, waiting);
    return waiting.start.promise;
  }

  /** Of a job that has ended, or never started, nothing connects there any more. */
  takeListener(message: unknown, handle: unknown): void {
    if (!(handle instanceof Server)) return;
    const { job } = message as { job: number };
    const take = this.#jobs.get(job)?.takeListener;
    if (take === undefined) handle.close();
    else take(handle);
  }

  /** Reports that a job has started; a second call changes nothing. */
  started(one: Frame, send: Send): void {
    const waiting = this.#jobs.get(one.id);
    const pid = fieldU32(one, tag.PID) ?? 0;
    const sendToJob = (bytes: Buffer): void => {
      if (this.#jobs.has(one.id)) send(bytes);
    };
    waiting?.start.resolve({
      kind: "started",
      job: {
        pid,
        ended: waiting.end.promise,
        signal: (signo) => sendToJob(encodeSignal(one.id, signo)),
        kill: () => sendToJob(encodeKill(one.id)),
      },
    });
  }

  failed(one: Frame): void {
    const errno = fieldU32(one, tag.ERRNO) ?? 0;
    this.#jobs.get(one.id)?.start.resolve({
      kind: "failed",
      step: fieldText(one, tag.STEP),
      code: errnoName(errno),
      message: fieldText(one, tag.MESSAGE),
    });
    this.#jobs.delete(one.id);
  }

  /** A job whose output was held until its end had no STARTED. */
  exited(one: Frame, send: Send): void {
    this.started(one, send);
    this.#jobs.get(one.id)?.end.resolve({ kind: "exited", report: exitReport(one) });
    this.#jobs.delete(one.id);
  }

  /** The launcher is gone, and everything that it had started with it. */
  lose({ reason, message }: LauncherLost): void {
    for (const { start, end } of this.#jobs.values()) {
      // Its caller may no longer wait for the answer.
      start.promise.catch(() => {});
      start.reject(new LauncherLost(reason, { mayHaveBegun: true }));
      end.resolve({ kind: "lost", reason: message });
    }
    this.#jobs.clear();
  }
}
