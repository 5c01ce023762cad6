import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Job } from "../shapes.ts";

export type ReceivedRequest = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
};
export type RequestHandler = (seen: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

export type TinyHub = { url: string; seen: ReceivedRequest[]; [Symbol.asyncDispose](): Promise<void> };

/** A server that answers as a test says and records what it was asked. Only tests use it. */
export async function startTinyHub(answer: RequestHandler): Promise<TinyHub> {
  const seen: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://hub");
    // As a hub that serves no frames.
    if (url.pathname === "/api/v1/frames") return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call: ReceivedRequest = {
      method: request.method ?? "",
      path: url.pathname.replace(/^\/api\/v1/, ""),
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    seen.push(call);
    await answer(call, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, code: string): void {
  sendJson(response, status, { error: { code, message: `refused with ${code}`, request_id: "r1" } });
}

export const jobIdNumber = (number: number): string =>
  `01890000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;

/** A job as a hub shows it; pending by default. */
export function jobView(fields: Partial<Job> = {}): Job {
  return {
    id: jobIdNumber(1),
    tenant_id: "default",
    user_id: "someone",
    type: "test",
    params: null,
    run: { kind: "handler" },
    status: "pending",
    priority: 5,
    requires: null,
    limits: null,
    execution_location: "LOCAL_MACHINE",
    provider: null,
    model: null,
    timeout_sec: 300,
    max_runtime_ms: 300_000,
    idempotency_key: "sha256:0",
    steps: null,
    metadata: null,
    worker_id: null,
    attempt: 0,
    attempts: 0,
    max_attempts: 3,
    result: null,
    result_hash: null,
    partial_result: null,
    exit_code: null,
    progress: null,
    progress_detail: null,
    created_at: 0,
    run_at: 0,
    claimed_at: null,
    started_at: null,
    heartbeat_at: null,
    completed_at: null,
    cancel_requested_at: null,
    execution_time_ms: null,
    fail_reason: null,
    fail_code: null,
    fail_detail: null,
    fail_history: [],
    solver_url: null,
    solver_checksum: null,
    isolation: null,
    usage: null,
    output: { stdout: 0, stderr: 0 },
    output_files: [],
    document_sha256: "0",
    ...fields,
  };
}
