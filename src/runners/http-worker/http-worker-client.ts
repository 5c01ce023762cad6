import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { untilAborted } from "../../runtime/clock/until-aborted.ts";
import { RunFailure } from "../runner.ts";
import type { WorkerConnections } from "./connect-to-worker.ts";
import { type Answer, ExchangeFailure, exchange, type WorkerRequest } from "./exchange.ts";
import {
  type JobEnd,
  type JobProgress,
  type JobStatus,
  judgeStatus,
  judgeSubmission,
  requestFailed,
  submitFailed,
} from "./judge-answer.ts";

/** A job as its worker receives it. Paths are as the worker sees them. */
type SubmittedJob = {
  jobId: string;
  jobClass: string;
  /** JSON text, passed on as it is. */
  inputJson: string;
  logOut: string;
  logErr: string;
  outputDir: string;
};

const submitMs = 10_000;
const statusMs = 5_000;
/** For a job without a timeout of its own. */
const jobMsDefault = 30 * 60_000;
const pollMs = { firstMs: 2, maxMs: 1_000 };
/** A worker that is busy may miss an answer; one that misses this many in a row is lost. */
const missesMax = 3;
/** More requests at once would only wait at the worker until their time is up. */
const requestsMax = 16;

/** Speaks with a worker that serves jobs over HTTP on this machine. A failure is a RunFailure. Why: ADR 0044. */
export class HttpWorkerClient {
  readonly #clock: Clock;
  readonly #connections: WorkerConnections;
  readonly #who: string;
  readonly #turns = new Turns(requestsMax);
  #lastStatus: number | undefined;
  #lastProblem: string | null = null;

  /** `who` is the worker in messages. */
  constructor(clock: Clock, connections: WorkerConnections, who: string) {
    this.#clock = clock;
    this.#connections = connections;
    this.#who = who;
  }

  /** The HTTP status of the worker's latest answer. */
  get lastStatus(): number | undefined {
    return this.#lastStatus;
  }

  /** Why the worker was not ready at the last check; null if it was, or before the first check. */
  get lastProblem(): string | null {
    return this.#lastProblem;
  }

  /** `GET /health/ready`: whether the worker takes jobs now. */
  async isReady(signal?: AbortSignal): Promise<boolean> {
    return (await this.findProblem(signal)) === null;
  }

  /** Why the worker takes no jobs now; null if it does. Rejects with a RunFailure if another program is on its port. */
  async findProblem(signal?: AbortSignal): Promise<string | null> {
    try {
      this.#lastProblem = await this.#askReady(signal);
      return this.#lastProblem;
    } catch (error) {
      if (error instanceof RunFailure) this.#lastProblem = error.message;
      throw error;
    }
  }

  async #askReady(signal: AbortSignal | undefined): Promise<string | null> {
    const path = "/health/ready";
    const answer = await this.#ask({ method: "GET", path, timeoutMs: statusMs, signal });
    if (typeof answer === "string") return `${this.#who} ${answer}`;
    if (answer.status === 200) return null;
    return `${this.#who} answered GET ${path} with HTTP ${answer.status} instead of 200`;
  }

  /**
   * Resolves when the worker is ready, after at most this long. If another program is on its port, it rejects at once.
   */
  async waitUntilReady({ withinMs, signal }: { withinMs: number; signal?: AbortSignal }): Promise<void> {
    const endsAtMs = this.#clock.monotonicMs() + withinMs;
    for (let tries = 0; ; tries++) {
      const problem = await this.findProblem(signal);
      if (problem === null) return;
      if (this.#clock.monotonicMs() >= endsAtMs) {
        const reason = `${problem}; it had ${withinMs / 1000} s to become ready`;
        throw new RunFailure("EXECUTION_ERROR", "WORKER_NOT_READY", reason);
      }
      await this.#clock.sleep(backOffMs(tries, pollMs), signal);
    }
  }

  /** `POST /job`. Resolves when the worker has accepted the job. */
  async submit(job: SubmittedJob, signal?: AbortSignal): Promise<void> {
    const body = submissionJson(job);
    const answer = await this.#ask({ method: "POST", path: "/job", body, timeoutMs: submitMs, signal });
    if (typeof answer === "string") throw submitFailed(`${this.#who} ${answer}`);
    judgeSubmission(answer, { jobId: job.jobId, who: this.#who });
  }

  /** Polls `GET /job/{id}` until the job has ended. Rejects with the signal's reason when it is aborted. */
  async waitForEnd(
    jobId: string,
    options: {
      timeoutMs?: number;
      signal?: AbortSignal;
      onProgress?: (progress: JobProgress) => void;
    } = {},
  ): Promise<JobEnd> {
    const { timeoutMs = jobMsDefault, signal, onProgress } = options;
    const endsAtMs = this.#clock.monotonicMs() + timeoutMs;
    let misses = 0;
    for (let polls = 0; ; polls++) {
      const leftMs = endsAtMs - this.#clock.monotonicMs();
      if (leftMs <= 0) throw pollTimeout(timeoutMs);
      // After a miss it gets more time: it is busy, or about to be found dead.
      const pauseMs = misses > 0 ? pollMs.maxMs : backOffMs(polls, pollMs);
      await this.#clock.sleep(Math.min(leftMs, pauseMs), signal);
      const answer = await this.#askStatus(jobId, signal);
      if (typeof answer === "string") {
        misses++;
        if (misses >= missesMax)
          throw requestFailed(`${this.#who} ${answer}, and no better the ${misses - 1} times before`);
        continue;
      }
      misses = 0;
      const status = judgeStatus(answer, { jobId, who: this.#who });
      if (status.kind === "ended") return status.end;
      if (status.progress !== undefined) onProgress?.(status.progress);
    }
  }

  /**
   * `DELETE /job/{id}`, which a worker need not have. Resolves with true when the job has ended there within this time,
   * with any answer of the worker, and with false when it may still be running. Rejects with the signal's reason when
   * it is aborted.
   */
  async cancel(
    jobId: string,
    { withinMs, signal }: { withinMs: number; signal?: AbortSignal },
  ): Promise<boolean> {
    const endsAtMs = this.#clock.monotonicMs() + withinMs;
    const timeoutMs = Math.max(1, Math.min(statusMs, withinMs));
    // Ahead of the queue, because this very job may be what delays the other requests.
    const call = { method: "DELETE", path: jobPath(jobId), timeoutMs, signal } as const;
    const answer = await this.#exchange(call).catch(strangerText);
    const isTaken = typeof answer !== "string" && answer.status >= 200 && answer.status < 300;
    for (let polls = 0; ; polls++) {
      if (await this.#hasEnded(jobId, signal)) return true;
      const leftMs = endsAtMs - this.#clock.monotonicMs();
      if (!isTaken || leftMs <= 0) return false;
      await this.#clock.sleep(Math.min(leftMs, backOffMs(polls, pollMs)), signal);
    }
  }

  async #hasEnded(jobId: string, signal: AbortSignal | undefined): Promise<boolean> {
    const path = jobPath(jobId);
    const answer = await this.#exchange({ method: "GET", path, timeoutMs: statusMs, signal }).catch(
      strangerText,
    );
    if (typeof answer === "string" || answer.status >= 500) return false;
    return answer.status === 404 || tryJudgeStatus(answer, jobId)?.kind === "ended";
  }

  /** The answer, or why there is none for now. Another program on the port may have gone by the next time too. */
  async #askStatus(jobId: string, signal?: AbortSignal): Promise<Answer | string> {
    const path = jobPath(jobId);
    const answer = await this.#ask({ method: "GET", path, timeoutMs: statusMs, signal }).catch(strangerText);
    if (typeof answer !== "string" && answer.status >= 500)
      return `answered GET ${path} with HTTP ${answer.status}`;
    return answer;
  }

  #ask(call: WorkerRequest): Promise<Answer | string> {
    return untilAborted(
      this.#turns.take(() => this.#exchange(call)),
      call.signal,
    );
  }

  async #exchange(call: WorkerRequest): Promise<Answer | string> {
    try {
      const answer = await exchange(this.#clock, this.#connections, call);
      this.#lastStatus = answer.status;
      return answer;
    } catch (error) {
      if (error instanceof ExchangeFailure) return error.message;
      throw error;
    }
  }
}

function submissionJson({ jobId, jobClass, inputJson, logOut, logErr, outputDir }: SubmittedJob): string {
  const texts = { job_id: jobId, job_class: jobClass, job_log_out: logOut, job_log_err: logErr };
  const fields = Object.entries({ ...texts, job_output_dir: outputDir }).map(
    ([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`,
  );
  return `{${fields.join(",")},"job_input":${inputJson}}`;
}

function jobPath(jobId: string): string {
  return `/job/${encodeURIComponent(jobId)}`;
}

/** A RunFailure means that another program is on the worker's port. */
function strangerText(error: unknown): string {
  if (error instanceof RunFailure) return `could not be asked: ${error.message}`;
  throw error;
}

function tryJudgeStatus(answer: Answer, jobId: string): JobStatus | undefined {
  try {
    return judgeStatus(answer, { jobId, who: "" });
  } catch {
    // An answer that is no status does not show that the job has ended.
    return undefined;
  }
}

function pollTimeout(timeoutMs: number): RunFailure {
  return new RunFailure("TIMEOUT", "JOB_POLL_TIMEOUT", `the job had not ended after ${timeoutMs / 1000} s`);
}
