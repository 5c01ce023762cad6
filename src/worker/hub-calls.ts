import { z } from "zod";
import { keysView } from "../contract/view-shapes.ts";
import {
  type ClaimedBatch,
  claimedBatch,
  resultBatchAnswer,
  type workerMetrics,
  type workerRegistration,
} from "../contract/worker-shapes.ts";
import { WritError } from "../core/errors.ts";
import type { HttpClient, HttpRequest, HttpResponse, HttpStream } from "../runtime/http-client.ts";
import type { Isolation } from "../sandbox/sandbox.ts";
import type { Lease } from "../signing/lease.ts";

export type HubKeys = z.infer<typeof keysView>;

/**
 * A signature that is missing or is not even text is passed on as an empty one, so that it is refused and reported
 * like any other that does not verify.
 */
const receivedBatch = claimedBatch.extend({
  batch: z
    .object({
      key_id: z.string().catch(""),
      signature: z.string().catch(""),
      signatures: claimedBatch.shape.batch.shape.signatures.catch(undefined),
    })
    .catch({ key_id: "", signature: "" }),
});

export type Registration = z.input<typeof workerRegistration>;
export type WorkerMetrics = z.input<typeof workerMetrics>;
export type ResultAnswer = z.infer<typeof resultBatchAnswer>["items"][number];
export type OutputStream = "stdout" | "stderr";

const base = "/api/v1";
/** The hub sends a comment every 15 s; three of them missed is a stream that only looks alive. */
const commandsIdleMs = 45_000;

export type HubCalls = ReturnType<typeof createHubCalls>;

export type ClaimAsk = {
  max: number;
  waitMs: number;
  /** Jobs of these types only; without it, whatever the worker is registered for. */
  types?: readonly string[] | undefined;
  signal: AbortSignal;
};

/** Every call that a worker makes, but for the heartbeat, which has a thread and a connection of its own. */
export function createHubCalls(client: HttpClient, me: { workerId: string; timeoutMs: number }) {
  const { workerId, timeoutMs } = me;
  const send = (
    request: Partial<HttpRequest> & Pick<HttpRequest, "method" | "path">,
  ): Promise<HttpResponse> =>
    client.request({ timeoutMs, okStatuses: [200, 204], ...request, path: base + request.path });
  const fence = ({ attempt, token }: Lease) => ({ worker_id: workerId, attempt, token });

  return {
    async listKeys(signal: AbortSignal): Promise<HubKeys> {
      const keys = keysView.safeParse((await send({ method: "GET", path: "/keys", signal })).json());
      if (keys.success) return keys.data;
      throw new WritError("HTTP_ERROR", "the hub's answer about its keys is not understood");
    },

    async register(registration: Registration, signal: AbortSignal): Promise<void> {
      await send({ method: "POST", path: "/workers/register", body: registration, signal });
    },

    /** Null when there is nothing to do. */
    async claim(ask: ClaimAsk): Promise<ClaimedBatch | null> {
      const response = await send({
        method: "POST",
        path: "/jobs/claim-batch",
        body: { worker_id: workerId, max: ask.max, wait_ms: ask.waitMs, types: ask.types },
        timeoutMs: timeoutMs + ask.waitMs,
        signal: ask.signal,
      });
      if (response.status === 204) return null;
      const batch = receivedBatch.safeParse(response.json());
      if (batch.success) return batch.data.jobs.length === 0 ? null : batch.data;
      throw new WritError("HTTP_ERROR", "the hub's answer to a claim does not have the shape of a batch");
    },

    async start(lease: Lease, isolation: Isolation | undefined, signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), ...(isolation === undefined ? {} : { isolation }) };
      await send({ method: "POST", path: `/jobs/${lease.job_id}/start`, body, signal });
    },

    async release(lease: Lease, reason: string, signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), reason };
      await send({ method: "POST", path: `/jobs/${lease.job_id}/release`, body, signal });
    },

    async progress(
      lease: Lease,
      report: { progress: number; detail?: string },
      signal: AbortSignal,
    ): Promise<void> {
      const body = { ...fence(lease), ...report };
      await send({ method: "POST", path: `/jobs/${lease.job_id}/progress`, body, signal });
    },

    /** Gives the size that the stream has at the hub afterwards, also when it was not what the offset said. */
    async appendOutput(
      lease: Lease,
      chunk: { stream: OutputStream; offset: number; bytes: Uint8Array },
      signal: AbortSignal,
    ): Promise<number> {
      const { stream, offset, bytes } = chunk;
      const headers = {
        "x-worker-id": workerId,
        "x-job-attempt": String(lease.attempt),
        "x-lease-token": lease.token,
      };
      const path = `/jobs/${lease.job_id}/output/${stream}?offset=${offset}`;
      try {
        const response = await send({ method: "POST", path, body: bytes, headers, signal });
        return sizeIn(response.json<{ size?: unknown }>().size);
      } catch (error) {
        if (!(error instanceof WritError) || error.code !== "OUTPUT_OFFSET") throw error;
        return sizeIn(error.details?.["size"]);
      }
    },

    /** The items are JSON text already, because results must arrive as they were written. */
    async finishJobs(
      items: readonly string[],
      signal: AbortSignal,
      signature?: string,
    ): Promise<ResultAnswer[]> {
      const receipts = signature === undefined ? "" : `,"receipts":${JSON.stringify({ signature })}`;
      const text = `{"worker_id":${JSON.stringify(workerId)}${receipts},"items":[${items.join(",")}]}`;
      const response = await send({
        method: "POST",
        path: "/jobs/results",
        body: Buffer.from(text),
        headers: { "content-type": "application/json" },
        signal,
      });
      const answer = resultBatchAnswer.safeParse(response.json());
      if (answer.success && answer.data.items.length === items.length) return answer.data.items;
      throw new WritError("HTTP_ERROR", "the hub's answer does not have one entry for each result");
    },

    async pushMetrics(metrics: WorkerMetrics, signal: AbortSignal): Promise<void> {
      await send({
        method: "POST",
        path: `/workers/${encodeURIComponent(workerId)}/metrics`,
        body: metrics,
        signal,
      });
    },

    async removeWorker(signal: AbortSignal): Promise<void> {
      await send({ method: "DELETE", path: `/workers/${encodeURIComponent(workerId)}`, signal });
    },

    openCommands(session: string | undefined, signal: AbortSignal): Promise<HttpStream> {
      const query = session === undefined ? "" : `?session=${encodeURIComponent(session)}`;
      const path = `${base}/workers/${encodeURIComponent(workerId)}/commands${query}`;
      const headers = { accept: "text/event-stream" };
      return client.openStream({ path, headers, signal, idleTimeoutMs: commandsIdleMs });
    },
  };
}

function sizeIn(size: unknown): number {
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  throw new WritError("HTTP_ERROR", "the hub's answer to an output chunk names no size");
}
