// Follows the events of a job. Why: ADR 0098.
import { backOffMs } from "../runtime/clock/back-off.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { connectMqtt, MqttFailure, type MqttOptions } from "../runtime/mqtt/connect-mqtt.ts";
import { type JobMessage, readMessage } from "../signing/job-message.ts";
import { brokerOptions } from "./broker.ts";
import { writeMessages } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import { isFinal, isRegistryStatus, type RegistryStatus } from "./job-record.ts";
import { type JobRow, recordOf } from "./job-row.ts";
import { getRow } from "./read-jobs.ts";
import { readLog } from "./read-log.ts";
import type { RegistryPlace } from "./registry-place.ts";
import { lastSent, readPage } from "./send-waiting.ts";
import { limitsOf } from "./time-limits.ts";

export type { JobMessage };

export type Subscription = {
  onMessage(message: JobMessage): void;
  /** Called with a sentence when something is not as it should be: a forged message, a broker that is away. */
  onNotice?: ((notice: string) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** How a subscription ended: with the job, or at one of its two time limits. */
export type SubscriptionEnd = RegistryStatus | "timeout" | "idle_timeout";

const lookMs = 500;
/** How long the last messages of a job that has ended may take to arrive. */
const lastMessagesMs = 3_000;
const retryPause = { firstMs: 200, maxMs: 10_000, random: Math.random };

/**
 * Follows the events of a job until it has ended, or has run longer than it may. Both are also seen in the registry, so
 * it ends even if the broker is away. A broker that refuses us is an error.
 */
export async function subscribe(
  place: RegistryPlace,
  jobId: string,
  subscription: Subscription,
): Promise<SubscriptionEnd> {
  const job = await getRow(place, jobId);
  const options = await brokerOptions(recordOf(job).broker, place.env);
  const over = new AbortController();
  const signal =
    subscription.signal === undefined ? over.signal : AbortSignal.any([over.signal, subscription.signal]);
  // The last event that was sent is shown too: the broker keeps it, and it may be the one that the caller waits for.
  const lastSeq = Math.max(0, (await lastSent(place, job)) - 1);
  const follower = new Follower(place, { job, lastSeq }, subscription);
  const connecting = follower.stayConnected(options, signal);
  const watching = follower.watchLimits(signal);
  try {
    return await Promise.race([follower.ended, watching, connecting]);
  } finally {
    over.abort();
    await Promise.allSettled([connecting, watching]);
    await follower.written;
  }
}

class Follower {
  readonly #place: RegistryPlace;
  readonly #job: JobRow;
  readonly #subscription: Subscription;
  readonly #end = Promise.withResolvers<SubscriptionEnd>();
  readonly #startedAt: number;
  #lastSeq: number;
  #lastAt: number;
  /** The history, one line after the other. */
  written: Promise<void> = Promise.resolve();

  /** `lastSeq`: what was sent up to there is not sent again. Later events wait, and are still to come. */
  constructor(
    place: RegistryPlace,
    { job, lastSeq }: { job: JobRow; lastSeq: number },
    subscription: Subscription,
  ) {
    this.#place = place;
    this.#job = job;
    this.#subscription = subscription;
    this.#startedAt = this.#clock.nowMs();
    this.#lastAt = this.#startedAt;
    this.#lastSeq = lastSeq;
  }

  get ended(): Promise<SubscriptionEnd> {
    return this.#end.promise;
  }

  get #clock() {
    return this.#place.clock ?? systemClock;
  }

  /** Connects again and again, with growing pauses. Only a refusal ends it before the signal does. */
  async stayConnected(options: MqttOptions, signal: AbortSignal): Promise<never> {
    for (let failures = 0; ; failures++) {
      try {
        const connection = await connectMqtt(options, signal);
        try {
          const { topic_prefix: topic } = this.#job;
          await connection.subscribe(`${topic}/events`, (payload) => this.#take(payload));
          // The broker keeps the last event there, which may have been sent before we listened or while we were away.
          await connection.subscribe(`${topic}/status`, (payload) => this.#take(payload));
          failures = 0;
          const aborted = new Promise<null>((resolve) =>
            signal.addEventListener("abort", () => resolve(null)),
          );
          const lost = await Promise.race([connection.ended, aborted]);
          if (lost !== null && !signal.aborted) this.#notice(`${lost.message}; trying again`);
        } finally {
          await connection.close();
        }
      } catch (error) {
        if (!(error instanceof MqttFailure) || error.kind === "refused") throw error;
        if (failures === 0 && !signal.aborted) this.#notice(`${error.message}; trying again`);
      }
      await this.#clock.sleep(backOffMs(failures, retryPause), signal);
    }
  }

  /** Looks at the registry, where a job can also end without a message. */
  async watchLimits(signal: AbortSignal): Promise<SubscriptionEnd> {
    let endedAt: number | null = null;
    while (true) {
      const job = await getRow(this.#place, this.#job.job_id);
      const nowMs = this.#clock.nowMs();
      if (isFinal(job.status)) {
        endedAt ??= nowMs;
        if (this.#lastSeq >= job.last_seq) return job.status;
        if (nowMs - endedAt >= lastMessagesMs) {
          await inTurn(this.#place, () => this.#showMissed());
          return job.status;
        }
      } else {
        const activeAt = Math.max(this.#lastAt, job.active_at);
        const limits = limitsOf({ ...job, active_at: activeAt }, job.picked_at ?? this.#startedAt);
        if (nowMs >= limits.timeoutAt) return "timeout";
        if (nowMs >= limits.idleAt) return "idle_timeout";
      }
      await this.#clock.sleep(lookMs, signal);
    }
  }

  /**
   * What the broker did not bring is on this machine: in the history what was sent, in the registry what waits. It is read in
   * turn, so that no event moves from one to the other meanwhile.
   */
  async #showMissed(): Promise<void> {
    // Without a history, what was sent cannot be shown again; what waits still is.
    const lines = await readLog(this.#place, this.#job.job_id).catch(() => []);
    for (const { event, payload } of lines) if (event === "published") this.#show(payload as JobMessage);
    let page = await readPage(this.#place, this.#job, this.#lastSeq);
    while (page.length > 0) {
      for (const { message } of page) this.#show(JSON.parse(message) as JobMessage);
      page = await readPage(this.#place, this.#job, this.#lastSeq);
    }
  }

  #take(payload: Buffer): void {
    const { job_id: jobId, auth_token: token } = this.#job;
    const read = readMessage(payload.toString("utf8"), token);
    if (read === null || read.message.job_id !== jobId)
      return void this.#notice("something that is no message about this job was ignored");
    if (!read.isAuthentic) return void this.#notice("a message without the right MAC was ignored");
    this.#show(read.message);
  }

  #show(message: JobMessage): void {
    // It was sent twice, because its sender could not know that it had arrived.
    if (message.seq <= this.#lastSeq) return;
    if (message.seq > this.#lastSeq + 1) this.#notice("messages may be missing here");
    this.#lastSeq = message.seq;
    this.#lastAt = this.#clock.nowMs();
    this.#subscription.onMessage(message);
    this.written = this.written.then(() =>
      inTurn(this.#place, (atMs) =>
        writeMessages(this.#place, message.job_id, { event: "received", payloads: [message], atMs }),
      ),
    );
    const { status } = message;
    if (status !== null && isRegistryStatus(status) && isFinal(status)) this.#end.resolve(status);
  }

  #notice(text: string): void {
    this.#subscription.onNotice?.(text);
  }
}
