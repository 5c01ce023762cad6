import type { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { Peer } from "../certs/verify-peer.ts";
import type { HubDeps } from "../deps.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

/** What the transport itself depends on, beside the use cases. */
export type RpcDeps = HubDeps & { calls: OpenCalls; rpcMetrics: RpcMetrics };

/** One TLS connection: the identity in its certificate, or why the certificate is not valid, and the address. */
export type Connection = { peer: Peer | WritError; serial: string | null; ipAddress: string | null };

/** A checked call: who is calling, from where, and when to give up. */
export type RpcCall = {
  deps: RpcDeps;
  peer: Peer;
  identity: Identity;
  origin: Origin;
  signal: AbortSignal;
  /** The job that the call is about, for the log. */
  noteJob(jobId: string): void;
  /** The trace that the caller is in, as it was sent. */
  traceparent: string | undefined;
};
