import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, ListenOptions } from "node:net";
import type { Handlers } from "./handlers.ts";
import { JobTable } from "./job-table.ts";
import { socketOfWrit } from "./socket-of-writ.ts";
import { readSubmission } from "./submission.ts";

export type ServeOptions = {
  /**
   * Writ tells a worker its port in the environment variable PORT. 0 takes any free one. When Writ has started the
   * program and no `host` is given, the port is not opened: Writ calls over a socket that no other program can reach.
   */
  port: number;
  /** The address to listen on (default: 127.0.0.1, and nothing but the socket when Writ has started the program). */
  host?: string | undefined;
  /** How many jobs run at once (default: 100); others wait. */
  concurrency?: number | undefined;
  /** How many jobs that have ended can still be asked for (default: 1,000). */
  rememberMax?: number | undefined;
};

export type JobServer = {
  readonly port: number;
  /** Takes no more jobs, and resolves when those that it has have ended and the server is closed. */
  stop(): Promise<void>;
};

const stopSignals = ["SIGTERM", "SIGINT"] as const;
const bodyBytesMax = 16 * 1024 * 1024;
/** A caller that waits for a job asks at least once a second. */
const readMs = 2_000;

/**
 * Serves jobs over HTTP, as Writ's `persistent_http` jobs need it. SIGTERM and SIGINT stop it gracefully; a second one
 * ends the process at once.
 */
export async function serveJobs(handlers: Handlers, options: ServeOptions): Promise<JobServer> {
  const { port, host, concurrency = 100, rememberMax = 1000 } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new RangeError(`port: ${port} is not a port; use a whole number from 0 to 65535`);
  const service = new JobService(handlers, new JobTable({ handlers, concurrency, rememberMax }));
  const server = createServer((request, response) => void service.answer(request, response));
  const path = host === undefined ? socketOfWrit() : undefined;
  await listen(server, path === undefined ? { port, host: host ?? "127.0.0.1" } : { path });

  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    for (const name of stopSignals) process.off(name, onSignal);
    stopped ??= service.finish().then(() => close(server));
    return stopped;
  };
  const onSignal = (): void => void stop();
  for (const name of stopSignals) process.on(name, onSignal);
  return { port: path === undefined ? (server.address() as AddressInfo).port : port, stop };
}

type Reply = { status: number; body: unknown } | { status: number; text: string };

class JobService {
  readonly #handlers: Handlers;
  readonly #jobs: JobTable;
  #isStopping = false;

  constructor(handlers: Handlers, jobs: JobTable) {
    this.#handlers = handlers;
    this.#jobs = jobs;
  }

  async finish(): Promise<void> {
    this.#isStopping = true;
    await this.#jobs.whenDone(readMs);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let reply: Reply;
    try {
      reply = await this.#reply(request);
    } catch (error) {
      reply = problem(500, "INTERNAL", (error as Error).message);
    }
    const text = "text" in reply ? reply.text : JSON.stringify(reply.body);
    response.writeHead(reply.status, { "content-type": "application/json", connection: "close" }).end(text);
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    const { method = "GET" } = request;
    const path = (request.url ?? "/").split("?")[0]!;
    const id = /^\/job\/([^/]+)$/.exec(path)?.[1];
    if (method === "GET" && path === "/health/ready")
      return { status: this.#isStopping ? 503 : 200, body: { ready: !this.#isStopping } };
    if (method === "GET" && path === "/health") return { status: 200, body: { status: "ok" } };
    if (method === "GET" && path === "/job-classes")
      return { status: 200, body: { job_classes: Object.keys(this.#handlers) } };
    if (method === "GET" && path === "/job") return { status: 200, body: { jobs: this.#jobs.list() } };
    if (method === "POST" && path === "/job") return this.#submit(request);
    if (id !== undefined && (method === "GET" || method === "DELETE"))
      return this.#one(method, decodeURIComponent(id));
    return problem(404, "NOT_FOUND", `there is no ${method} ${path} here`);
  }

  async #submit(request: IncomingMessage): Promise<Reply> {
    const body = await readBody(request);
    if (body === undefined) return problem(413, "TOO_LARGE", `a body has at most ${bodyBytesMax} bytes`);
    const submitted = await readSubmission(body, this.#handlers, (jobId) => this.#jobs.isOpen(jobId));
    if ("refusal" in submitted) {
      const { status, jobId, refusal } = submitted;
      return { status, body: { accepted: false, job_id: jobId, error: refusal } };
    }
    // After the last wait: once no call waits for jobs any more, what is added could not be asked for.
    if (this.#isStopping) {
      const error = { code: "STOPPING", message: "this worker takes no more jobs" };
      return { status: 503, body: { accepted: false, job_id: null, error } };
    }
    this.#jobs.add(submitted.job);
    return { status: 202, body: { accepted: true, job_id: submitted.job.id } };
  }

  #one(method: "GET" | "DELETE", id: string): Reply {
    const isKnown = method === "GET" || this.#jobs.cancel(id);
    const text = isKnown ? this.#jobs.describe(id) : undefined;
    if (text === undefined) return problem(404, "JOB_NOT_FOUND", `there is no job ${id} here`);
    return { status: method === "DELETE" ? 202 : 200, text };
  }
}

function problem(status: number, code: string, message: string): Reply {
  return { status, body: { error: { code, message } } };
}

/** Undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  return bytes <= bodyBytesMax ? Buffer.concat(chunks).toString("utf8") : undefined;
}

function listen(server: Server, address: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
