import type { RouteInput } from "../../contract/routes/build-request.ts";
import { fileRoutes } from "../../contract/routes/file-routes.ts";
import type { RouteAnswer } from "../../contract/routes/read-answer.ts";
import type { Route } from "../../contract/routes/route.ts";
import { workerRoutes } from "../../contract/routes/worker-routes.ts";
import type { Allowance } from "../../core/agents/agent-budget.ts";
import type { AgentCall } from "../../core/agents/agent-use.ts";
import { WritError } from "../../core/errors.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import type { Isolation } from "../../sandbox/sandbox.ts";
import type { Lease } from "../../signing/lease.ts";
import type { PresignedUrl } from "../../transfer/transfer-deps.ts";

/** Calls a route of the hub, by default with the worker's usual timeout. */
export type Call = <R extends Route>(
  route: R,
  input: RouteInput<R>,
  options: { signal: AbortSignal; timeoutMs?: number },
) => Promise<RouteAnswer<R>>;

type FileRequest = {
  jobToken: string;
  folderId: string;
  objectKey: string;
  method: "GET" | "PUT";
  /** The size of a file that will be put. */
  size?: number;
  sha256?: string;
};

/** The calls of a worker about one attempt while it holds it. */
export function createAttemptCalls(call: Call, workerId: string) {
  const fence = ({ attempt, token }: Lease) => ({ worker_id: workerId, attempt, token });
  const jobOf = ({ job_id: id }: Lease) => ({ id });

  return {
    async start(lease: Lease, isolation: Isolation | undefined, signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), ...(isolation === undefined ? {} : { isolation }) };
      await call(workerRoutes.startJob, { params: jobOf(lease), body }, { signal });
    },

    async release(lease: Lease, reason: string, signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), reason };
      await call(workerRoutes.releaseJob, { params: jobOf(lease), body }, { signal });
    },

    async progress(
      lease: Lease,
      report: { progress: number; detail?: string },
      signal: AbortSignal,
    ): Promise<void> {
      const body = { ...fence(lease), ...report };
      await call(workerRoutes.reportProgress, { params: jobOf(lease), body }, { signal });
    },

    async agent(lease: Lease, calls: readonly AgentCall[], signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), calls: [...calls] };
      await call(workerRoutes.reportAgent, { params: jobOf(lease), body }, { signal });
    },

    async budget(lease: Lease, signal: AbortSignal): Promise<{ job?: Allowance; tenant?: Allowance }> {
      const input = { params: jobOf(lease), body: fence(lease) };
      return (await call(workerRoutes.readAllowance, input, { signal })).body;
    },

    async stopped(lease: Lease, exit_code: number, signal: AbortSignal): Promise<void> {
      const body = { ...fence(lease), exit_code };
      await call(workerRoutes.reportStopped, { params: jobOf(lease), body }, { signal });
    },

    async issueJobToken(lease: Lease, signal: AbortSignal): Promise<string> {
      const input = { params: jobOf(lease), body: fence(lease) };
      return (await call(workerRoutes.issueJobToken, input, { signal })).body.job_token;
    },

    /** Requests a URL for one file of the job, with the job's own token. */
    async presignFile(lease: Lease, file: FileRequest, signal: AbortSignal): Promise<PresignedUrl> {
      const { jobToken, ...wish } = file;
      const headers = { authorization: `Bearer ${jobToken}` };
      const input = { params: jobOf(lease), headers, body: [wish] };
      const { urls } = (await call(fileRoutes.presignByToken, input, { signal })).body;
      if (urls[0] !== undefined) return urls[0];
      throw new WritError("HTTP_ERROR", "the hub's response contains no URL");
    },

    /** Returns the size of the stream at the hub afterwards, even if it was not what the offset assumed. */
    appendOutput: (lease: Lease, chunk: OutputChunk, signal: AbortSignal): Promise<number> =>
      appendOutput(call, { workerId, lease, chunk, signal }),
  };
}

type OutputChunk = { stream: OutputStream; offset: number; bytes: Uint8Array };

async function appendOutput(
  call: Call,
  input: { workerId: string; lease: Lease; chunk: OutputChunk; signal: AbortSignal },
): Promise<number> {
  const { workerId, lease, chunk, signal } = input;
  const { stream, offset, bytes } = chunk;
  const headers = {
    "x-worker-id": workerId,
    "x-job-attempt": String(lease.attempt),
    "x-lease-token": lease.token,
  };
  const params = { id: lease.job_id, stream };
  try {
    const answer = await call(
      workerRoutes.appendOutput,
      { params, query: { offset }, headers, body: bytes },
      { signal },
    );
    return answer.body.size;
  } catch (error) {
    if (!(error instanceof WritError) || error.code !== "OUTPUT_OFFSET") throw error;
    return sizeIn(error.details?.["size"]);
  }
}

function sizeIn(size: unknown): number {
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  throw new WritError("HTTP_ERROR", "the hub's response to an output chunk contains no size");
}
