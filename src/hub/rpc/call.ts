import type { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { Peer } from "../certs/verify-peer.ts";
import type { HubDeps } from "../deps.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

/** The dependencies of the transport, in addition to those of the use cases. */
export type RpcDeps = HubDeps & { calls: OpenCalls; rpcMetrics: RpcMetrics };

/** A caller's TLS connection: the identity in its certificate, or why the certificate is not valid, and the address. */
export type Connection = { peer: Peer | WritError; serial: string | null; ipAddress: string | null };

/** A checked call: its caller, its origin, and the signal that ends it. */
export type RpcCall = {
  deps: RpcDeps;
  peer: Peer;
  identity: Identity;
  origin: Origin;
  signal: AbortSignal;
  /** Names the call's job for the log. */
  noteJob(jobId: string): void;
  /** The caller's trace, as it was sent. */
  traceparent: string | undefined;
};
