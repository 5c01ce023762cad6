import { Counter, Gauge } from "prom-client";
import type { HubMetrics } from "../services/metrics/metrics.ts";

export type RpcMetrics = ReturnType<typeof createRpcMetrics>;

/** The metrics of the gRPC port. */
export function createRpcMetrics({ registry }: HubMetrics, openCalls: () => number) {
  const registers = [registry];
  new Gauge({
    name: "writ_grpc_open_calls",
    help: "gRPC calls in progress, including streams",
    registers,
    collect() {
      this.set(openCalls());
    },
  });
  return {
    calls: new Counter({
      name: "writ_grpc_calls_total",
      help: "gRPC calls by method and status code",
      labelNames: ["method", "code"],
      registers,
    }),
    handshakesRefused: new Counter({
      name: "writ_grpc_handshakes_refused_total",
      help: "TLS handshakes refused, mostly for lack of a valid certificate",
      registers,
    }),
  };
}
