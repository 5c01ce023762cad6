import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "../../../runtime/clock/clock.ts";
import type { Store } from "../../../store/store.ts";
import type { Leadership } from "../../leadership.ts";
import { mqttMetrics } from "../../mqtt/mqtt-metrics.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { addFileGauge, uploadCounters } from "./file-metrics.ts";
import { addQueueGauges, addWorkerGauges } from "./fleet-gauges.ts";
import { JobTimes } from "./job-times.ts";

export type HubMetrics = ReturnType<typeof createMetrics>;

/** The metrics of the hub, for Prometheus. */
export function createMetrics(version: string) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges whose names end like those of counters.
  for (const what of ["resources", "handles", "requests"]) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const registers = [registry];
  new Gauge({ name: "writ_info", help: "The running version", labelNames: ["version"], registers })
    .labels(version)
    .set(1);
  return {
    registry,
    jobTimes: new JobTimes(registry),
    ...requestMetrics(registers),
    ...jobCounters(registers),
    signatures: new Counter({ name: "writ_signatures_total", help: "Ed25519 signatures made", registers }),
    alerts: new Counter({
      name: "writ_alerts_total",
      help: "Attempts to send an alert, by channel and outcome",
      labelNames: ["channel", "outcome"],
      registers,
    }),
    outputBytes: new Counter({
      name: "writ_output_bytes_total",
      help: "Output received from workers",
      registers,
    }),
    ...uploadCounters(registers),
    spans: new Counter({
      name: "writ_spans_total",
      help: "Spans for the collector of OTEL_EXPORTER_OTLP_ENDPOINT, by outcome: exported or dropped",
      labelNames: ["outcome"],
      registers,
    }),
    webhooks: new Counter({
      name: "writ_webhook_calls_total",
      help: "Calls of webhooks, by outcome: delivered, given_up, later or disabled",
      labelNames: ["outcome"],
      registers,
    }),
    mqtt: mqttMetrics(registers),
    refused: new Counter({
      name: "writ_refusals_total",
      help: "Requests refused, by error code",
      labelNames: ["code"],
      registers,
    }),
  };
}

function requestMetrics(registers: Registry[]) {
  return {
    requests: new Counter({
      name: "writ_http_requests_total",
      help: "HTTP requests by method, route and status",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "writ_http_request_duration_seconds",
      help: "Time until the response begins, by method and route; long polls and streams are not counted",
      labelNames: ["method", "route"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
    frameConnections: new Gauge({
      name: "writ_frame_connections",
      help: "Connections whose requests come in frames",
      registers,
    }),
    frameCloses: new Counter({
      name: "writ_frame_connections_closed_total",
      help: "Connections with frames that have ended, by reason",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function jobCounters(registers: Registry[]) {
  return {
    submitted: new Counter({ name: "writ_jobs_submitted_total", help: "Jobs accepted", registers }),
    claimed: new Counter({ name: "writ_jobs_claimed_total", help: "Leases given", registers }),
    finished: new Counter({
      name: "writ_jobs_finished_total",
      help: "Outcomes reported by workers, by the resulting status",
      labelNames: ["status"],
      registers,
    }),
  };
}

/** Gauges that are computed on request. */
export function addLiveGauges(
  metrics: HubMetrics,
  deps: { store: Store; dispatcher: Dispatcher; clock: Clock; leadership: Leadership },
): void {
  addQueueGauges(metrics, deps);
  addWorkerGauges(metrics, deps);
  const registers = [metrics.registry];
  new Gauge({
    name: "writ_jobs",
    help: "Jobs by state",
    labelNames: ["status"],
    registers,
    async collect() {
      const { jobs } = await deps.store.ping();
      for (const [status, count] of Object.entries(jobs)) this.set({ status }, count);
    },
  });
  addFileGauge(metrics, deps);
  new Gauge({
    name: "writ_hubs",
    help: "Hubs that serve the same database, with this one",
    registers,
    collect() {
      this.set(deps.leadership.hubs.length);
    },
  });
  new Gauge({
    name: "writ_leader",
    help: "1 if this hub does what only one of the hubs of a database may do, else 0",
    registers,
    collect() {
      this.set(deps.leadership.isLeader ? 1 : 0);
    },
  });
  new Gauge({
    name: "writ_waiting_workers",
    help: "Claims and command streams that wait for work",
    registers,
    collect() {
      this.set(deps.dispatcher.waiting);
    },
  });
}
