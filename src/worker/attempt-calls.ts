import { jobTokenAnswer } from "../contract/worker-shapes.ts";
import { WritError } from "../core/errors.ts";
import type { OutputStream } from "../core/output-stream.ts";
import type { HttpRequest, HttpResponse } from "../runtime/http-client.ts";
import type { Isolation } from "../sandbox/sandbox.ts";
import type { Lease } from "../signing/lease.ts";

/** One call to the hub, below its prefix, with this worker's own timeout. */
export type Send = (
  request: Partial<HttpRequest> & Pick<HttpRequest, "method" | "path">,
) => Promise<HttpResponse>;

/** What a worker says about one attempt while it holds it. */
export function createAttemptCalls(send: Send, workerId: string) {
  const fence = ({ attempt, token }: Lease) => ({ worker_id: workerId, attempt, token });

  return {
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

    async issueJobToken(lease: Lease, signal: AbortSignal): Promise<string> {
      const path = `/jobs/${lease.job_id}/token`;
      const response = await send({ method: "POST", path, body: fence(lease), signal });
      const answer = jobTokenAnswer.safeParse(response.json());
      if (answer.success) return answer.data.job_token;
      throw new WritError("HTTP_ERROR", "the hub's answer to POST /jobs/:id/token holds no job_token");
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
  };
}

function sizeIn(size: unknown): number {
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  throw new WritError("HTTP_ERROR", "the hub's answer to an output chunk names no size");
}
