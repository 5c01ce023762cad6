import { WritError } from "../../core/errors.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Timer } from "../../runtime/clock/clock.ts";
import {
  connectMqtt,
  type MqttConnection,
  MqttFailure,
  type MqttMessage,
  type MqttOptions,
} from "../../runtime/mqtt/connect-mqtt.ts";
import { type RepeatedService, repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { unlessLeadLost } from "../leadership.ts";
import { eventMessage, isNumbered, type NumberedEvent, statusMessage } from "./event-message.ts";
import type { MqttSettings } from "./mqtt-settings.ts";

const roundMs = 1_000;
const gatherMs = 20;
const eventsPerTurn = 200;
const retryPause = { firstMs: 1_000, maxMs: 60_000, random: Math.random };
const readerName = "mqtt";

type PublisherDeps = Pick<HubDeps, "store" | "feed" | "clock" | "logger" | "failures" | "metrics"> & {
  leadership: Pick<HubDeps["leadership"], "isLeader">;
};

/** A message, with the number of its event. */
type Item = { seq: number; message: MqttMessage; counts: boolean };

/**
 * Sends the events of jobs to a broker, in the order of the log. The log itself is the outbox: this reader advances
 * only past events that the broker has acknowledged, and its position is in the database. Nothing waits for it; while
 * the broker is away it does not read. Why: ADR 0050.
 */
export class MqttPublisher implements Service {
  readonly name = "mqtt publisher";
  readonly #deps: PublisherDeps;
  readonly #settings: MqttSettings;
  readonly #rounds: RepeatedService;
  #connection: MqttConnection | null = null;
  #stopListening: () => void = () => {};
  #wakes: Timer | null = null;
  /** The broker has acknowledged everything up to here. */
  #seq = 0;
  #failures = 0;
  #retryAtMs = 0;
  #lastFailure: MqttFailure | null = null;

  constructor(deps: PublisherDeps, settings: MqttSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const onError = unlessLeadLost((error) => deps.failures.error(error, "events could not be sent by MQTT"));
    this.#rounds = repeat({ name: this.name, intervalMs: roundMs, clock: deps.clock, onError }, (signal) =>
      this.#round(signal),
    );
  }

  get state(): "connected" | "away" | "refused" {
    if (this.#connection !== null) return "connected";
    return this.#lastFailure?.kind ?? "away";
  }

  /** Runs before the ports open: a new reader begins at the end of the log, and must not miss the first events. */
  async start(): Promise<void> {
    const { store } = this.#deps;
    const { seq, memory } = await store.getLogReader({ name: readerName });
    this.#seq = seq;
    if (memory === "") await this.#advance(seq);
    this.#stopListening = store.onCommit(() => this.#wakeSoon());
    await this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#stopListening();
    this.#wakes?.cancel();
    // Cleared, because the service starts again when this hub takes the lead again.
    this.#wakes = null;
    // Ends calls that wait for the broker; a round that is just connecting leaves one more connection to close.
    await this.#close();
    await this.#rounds.stop();
    await this.#close();
  }

  async #close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
  }

  /** Commits that follow each other closely are read together. */
  #wakeSoon(): void {
    if (this.#connection === null || this.#wakes !== null) return;
    this.#wakes = this.#deps.clock.setTimer(() => {
      this.#wakes = null;
      this.#rounds.wake();
    }, gatherMs);
  }

  async #round(signal: AbortSignal): Promise<void> {
    let connection = this.#connection;
    try {
      connection ??= await this.#connect(signal);
      while (connection !== null && !signal.aborted && (await this.#sendPage(connection)));
    } catch (error) {
      if (!(error instanceof MqttFailure)) throw error;
      if (connection !== null) this.#lose(connection, error);
      else if (!signal.aborted) this.#noteFailure(error);
    } finally {
      const { metrics, feed } = this.#deps;
      metrics.mqtt.connected.set(this.#connection === null ? 0 : 1);
      metrics.mqtt.lag.set(Math.max(0, feed.lastSeq - this.#seq));
    }
  }

  /** Null while it is too early to try again. */
  async #connect(signal: AbortSignal): Promise<MqttConnection | null> {
    const { clock, logger } = this.#deps;
    if (clock.monotonicMs() < this.#retryAtMs) return null;
    const connection = await connectMqtt(await this.#options(), signal);
    this.#connection = connection;
    void connection.ended.then((failure) => this.#lose(connection, failure));
    const { host, port } = this.#settings.broker;
    logger.info({ host, port, waiting: this.#deps.feed.lastSeq - this.#seq }, "connected to the MQTT broker");
    return connection;
  }

  async #options(): Promise<MqttOptions> {
    const { broker, readPassword } = this.#settings;
    try {
      return readPassword === undefined ? broker : { ...broker, password: await readPassword() };
    } catch (error) {
      if (error instanceof WritError) throw new MqttFailure("refused", error.message);
      throw error;
    }
  }

  /** Called when the connection ends and when it no longer answers; the first call counts. */
  #lose(connection: MqttConnection, failure: MqttFailure): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    void connection.close();
    this.#noteFailure(failure);
  }

  /** Logged once for each outage and each reason, not for each try. */
  #noteFailure(failure: MqttFailure): void {
    const { clock, logger } = this.#deps;
    this.#retryAtMs = clock.monotonicMs() + backOffMs(this.#failures, retryPause);
    const isNew = this.#failures === 0 || this.#lastFailure?.message !== failure.message;
    this.#failures++;
    this.#lastFailure = failure;
    if (isNew) logger.warn({ why: failure.message }, "events wait for the MQTT broker");
  }

  /** Resolves with false if no event was left to send. */
  async #sendPage(connection: MqttConnection): Promise<boolean> {
    const { store, logger, metrics } = this.#deps;
    const page = await store.readEvents({ afterSeq: this.#seq, limit: eventsPerTurn });
    const [oldest, newest] = [page[0], page.at(-1)];
    if (oldest === undefined || newest === undefined) {
      this.#failures = 0;
      return false;
    }
    if (oldest.seq > this.#seq + 1) {
      const skipped = oldest.seq - this.#seq - 1;
      metrics.mqtt.skipped.inc(skipped);
      logger.error(
        { skipped },
        "the MQTT broker was away for longer than events are kept; these were not sent",
      );
    }
    const items = await this.#itemsOf(page.filter(isNumbered));
    for (let at = 0; at < items.length; at += connection.inFlightMax) {
      // The new leader has sent these already; an old status must not replace its newer one.
      if (!this.#deps.leadership.isLeader) return false;
      await this.#sendItems(connection, items.slice(at, at + connection.inFlightMax));
      this.#failures = 0;
    }
    await this.#advance(newest.seq);
    return page.length === eventsPerTurn;
  }

  /** The messages of a page: each event, and after the last one of each job the retained status. */
  async #itemsOf(events: readonly NumberedEvent[]): Promise<Item[]> {
    const last = new Map(events.map((event) => [event.jobId, event.seq]));
    const items: Item[] = [];
    for (const event of events) {
      const message = await eventMessage(this.#deps.store, event, this.#settings.hmacKey);
      items.push({ seq: event.seq, message, counts: true });
      if (last.get(event.jobId) === event.seq)
        items.push({ seq: event.seq, message: statusMessage(event, message), counts: false });
    }
    return items;
  }

  /** If the broker goes away in the middle, events that it acknowledged without a gap are not sent again. */
  async #sendItems(connection: MqttConnection, items: readonly Item[]): Promise<void> {
    const sent = await Promise.allSettled(items.map(({ message }) => connection.publish(message)));
    const failedAt = sent.findIndex(({ status }) => status === "rejected");
    const acknowledged = failedAt < 0 ? items : items.slice(0, failedAt);
    this.#deps.metrics.mqtt.published.inc(acknowledged.filter(({ counts }) => counts).length);
    const failure = sent[failedAt];
    if (failure?.status !== "rejected") return;
    // The event before the first failure may have been acknowledged without its status.
    const unsentSeq = items[failedAt]!.seq;
    if (unsentSeq - 1 > this.#seq) await this.#advance(unsentSeq - 1);
    throw failure.reason;
  }

  async #advance(seq: number): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const nothing = { messages: [], waitingMax: 0, watch: [] };
    await this.#deps.store.advanceLogReader({ name: readerName, seq, memory: "begun", nowMs, ...nothing });
    this.#seq = seq;
  }
}
