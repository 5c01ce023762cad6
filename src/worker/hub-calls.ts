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
import type { HttpClient, HttpStream } from "../runtime/http-client.ts";
import { createAttemptCalls, type Send } from "./attempt-calls.ts";

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
  const send: Send = (request) =>
    client.request({ timeoutMs, okStatuses: [200, 204], ...request, path: base + request.path });
  return { ...createOwnCalls(client, send, me), ...createAttemptCalls(send, workerId) };
}

/** What a worker says and asks for itself, or for many attempts at once. */
function createOwnCalls(
  client: HttpClient,
  send: Send,
  { workerId, timeoutMs }: { workerId: string; timeoutMs: number },
) {
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

    openCommands(signal: AbortSignal): Promise<HttpStream> {
      const path = `${base}/workers/${encodeURIComponent(workerId)}/commands`;
      const headers = { accept: "text/event-stream" };
      return client.openStream({ path, headers, signal, idleTimeoutMs: commandsIdleMs });
    },
  };
}
