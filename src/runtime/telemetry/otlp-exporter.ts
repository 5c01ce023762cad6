import { repeat, type Service } from "../service.ts";
import { otlpBody } from "./otlp-body.ts";
import { parseHeaders } from "./otlp-headers.ts";
import type { Span, Telemetry, TelemetryOptions } from "./telemetry.ts";

/** About 4 MB; what arrives while that many wait is dropped and counted. */
const waitingMax = 8_192;
const batchMax = 512;
const intervalMs = 1_000;
const requestMsMax = 10_000;
/** A program that ends does not wait longer for its last spans. */
const lastRequestMsMax = 2_000;
/** The collector may take the same spans later. */
const retryStatuses = [408, 429, 502, 503, 504];
const warnEveryMs = 60_000;

type Options = TelemetryOptions & { endpoint: string };

/** Sends spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. Jobs never wait for it. Why: ADR 0071. */
export class OtlpExporter implements Telemetry {
  readonly name = "telemetry";
  readonly isOn = true;
  readonly #options: Options;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #rounds: Service & { wake(): void };
  #waiting: Span[] = [];
  #dropped = 0;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: Options) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#headers = { ...parseHeaders(options.headers), "content-type": "application/json" };
    const onError = (error: unknown) => options.logger.error({ err: error }, "spans could not be sent");
    this.#rounds = repeat({ name: this.name, intervalMs, clock: options.clock, onError }, () =>
      this.#sendAll(requestMsMax),
    );
  }

  record(span: Span): void {
    if (this.#waiting.length >= waitingMax) this.#drop(1, "the collector is too slow");
    else this.#waiting.push(span);
    if (this.#waiting.length === batchMax) this.#rounds.wake();
  }

  start(): Promise<void> {
    return this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#sendAll(lastRequestMsMax);
    this.#drop(this.#waiting.splice(0).length, "the program ended");
  }

  /** Stops at the first batch that the collector does not take now: it is sent again in the next round. */
  async #sendAll(timeoutMs: number): Promise<void> {
    for (let batches = Math.ceil(this.#waiting.length / batchMax); batches > 0; batches--) {
      const batch = this.#waiting.slice(0, batchMax);
      const outcome = await this.#send(batch, timeoutMs);
      if (outcome === "away") return;
      this.#waiting.splice(0, batch.length);
      if (outcome === "taken") this.#options.counts.exported(batch.length);
      else this.#drop(batch.length, "the collector refuses them");
    }
  }

  async #send(batch: Span[], timeoutMs: number): Promise<"taken" | "refused" | "away"> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body: otlpBody(this.#options.resource, batch),
        // What is sent may carry a key of the collector: it goes nowhere else.
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (response.ok) return "taken";
      if (!retryStatuses.includes(response.status)) return "refused";
      this.#warn({ status: response.status });
    } catch (error) {
      this.#warn({ err: error });
    }
    return "away";
  }

  #drop(count: number, why: string): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#options.counts.dropped(count);
    this.#warn({ why });
  }

  #warn(details: object): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#warnedAtMs < warnEveryMs) return;
    this.#warnedAtMs = nowMs;
    this.#options.logger.warn(
      { ...details, waiting: this.#waiting.length, dropped: this.#dropped },
      "spans do not reach the collector of OTEL_EXPORTER_OTLP_ENDPOINT; jobs are not affected",
    );
  }
}
