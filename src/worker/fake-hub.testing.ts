import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { abilitiesHeader, hubAbilities } from "../contract/hub-abilities.ts";
import type { RunSpec } from "../contract/kinds.ts";
import type { JsonValue } from "../core/text/json-value.ts";
import { canonicalize } from "../signing/canonical.ts";
import { generateSigningKey, type SigningKey, signText } from "../signing/ed25519.ts";
import { batchText, type Lease, leaseText } from "../signing/lease.ts";
import { sha256Hex } from "../signing/mac.ts";

export type TestJob = { id: string; document: string; lease: string; job_token?: string };
export type Ending = Record<string, unknown> & { job_id: string };
export type Call = { method: string; path: string; body: unknown };

/** Numbers, so that a test can tell its jobs apart. */
export function testJobId(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

export function testDocument(id: string, run: RunSpec, changes: Record<string, unknown> = {}): string {
  return canonicalize({
    job_id: id,
    tenant_id: "default",
    user_id: "ann",
    type: run.kind,
    execution_location: "LOCAL_MACHINE",
    run,
    created_at_ts: 1_700_000_000,
    status: "QUEUED",
    timeout_sec: 60,
    idempotency_key: `sha256:${"0".repeat(64)}`,
    priority: 5,
    max_attempts: 3,
    ...changes,
  } as unknown as JsonValue);
}

export function testJob(
  number: number,
  run: RunSpec,
  changes: { lease?: Partial<Lease>; document?: object } = {},
): TestJob {
  const id = testJobId(number);
  const document = testDocument(id, run, changes.document as Record<string, unknown>);
  const nowTs = Math.floor(Date.now() / 1000);
  const lease = leaseText({
    job_id: id,
    attempt: 1,
    worker_id: "w1",
    document_sha256: sha256Hex(document),
    timeout_sec: 60,
    issued_at_ts: nowTs,
    expires_at_ts: nowTs + 60,
    token: `token-of-job-${number}-0000`,
    ...changes.lease,
  });
  return { id, document, lease };
}

export function signedBatch(key: SigningKey, jobs: TestJob[], workerId = "w1") {
  const pairs = jobs.map((job) => ({ documentSha256: sha256Hex(job.document), leaseText: job.lease }));
  const signature = signText(key, batchText({ workerId, jobs: pairs }));
  return { jobs, batch: { key_id: key.keyId, signature } };
}

/** The parts of a hub that tests of a worker need; other tests cover the whole path with the real hub. */
export class FakeHub {
  readonly key = generateSigningKey().signingKey;
  readonly calls: Call[] = [];
  readonly endings: Ending[] = [];
  readonly refusals: { detail: string; jobs: { job_id: string }[]; unreadable: number }[] = [];
  readonly outputs = new Map<string, Buffer>();
  /** The jobs for the next claims. */
  queue: TestJob[] = [];
  /** The abilities that it names to a registering worker; a hub of version 0.1 has no such header. */
  abilities: string | undefined = hubAbilities.join(", ");
  /** Its result is the response, unless it is undefined. */
  intercept: (call: Call) => { status: number; body?: unknown } | undefined = () => undefined;
  leaseMs = 60_000;
  drain = false;
  lost: string[] = [];
  #server: Server | undefined;
  #commands: ServerResponse | undefined;
  #listeners = new Set<() => void>();

  async start(port = 0): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server!.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  command(event: string, data: object = {}): void {
    this.#commands?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  endCommands(): void {
    this.#commands?.end();
  }

  /** Resolves when the condition is true; it is checked after every call. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      look();
    });
  }

  pathsOf(pattern: RegExp): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`).filter((path) => pattern.test(path));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
    const isJson = request.headers["content-type"] === "application/json";
    const path = (request.url ?? "").replace("/api/v1", "");
    const call = { method: request.method ?? "", path, body: isJson ? JSON.parse(String(bytes)) : bytes };
    const answer = this.intercept(call) ?? this.#answer(call, response);
    this.calls.push(call);
    for (const look of [...this.#listeners]) look();
    if (answer === undefined) return;
    const { status, body } = answer;
    if (path === "/workers/register" && this.abilities !== undefined)
      response.setHeader(abilitiesHeader, this.abilities);
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(body === undefined ? "" : JSON.stringify(body));
  }

  #answer(
    { method, path, body }: Call,
    response: ServerResponse,
  ): { status: number; body?: unknown } | undefined {
    if (path.endsWith("/commands")) {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      this.#commands = response;
      return undefined;
    }
    if (path === "/keys") return { status: 200, body: { keys: [this.#keyView()] } };
    if (path === "/workers/heartbeat") {
      return {
        status: 200,
        body: { cancel: [], lost: this.lost, drain: this.drain, lease_ms: this.leaseMs },
      };
    }
    if (path === "/jobs/claim-batch") return this.#claim(body as { max: number });
    if (path === "/jobs/results") return this.#finish(body as { ends?: unknown[][]; items: Ending[] });
    if (path.endsWith("/refused-claims")) {
      this.refusals.push(body as FakeHub["refusals"][number]);
      return { status: 200, body: { returned: 1, paused_until: 0 } };
    }
    const output = /^\/jobs\/([^/]+\/output\/\w+)\?offset=(\d+)$/.exec(path);
    if (output !== null) return this.#append(output[1]!, Number(output[2]), body as Buffer);
    return { status: method === "GET" ? 404 : 204 };
  }

  #keyView() {
    return {
      key_id: this.key.keyId,
      public_key: this.key.publicKeyPem,
      status: "active",
      not_before: 0,
      not_after: null,
    };
  }

  #claim({ max }: { max: number }): { status: number; body?: unknown } {
    const jobs = this.queue.splice(0, max);
    return jobs.length === 0 ? { status: 204 } : { status: 200, body: signedBatch(this.key, jobs) };
  }

  #finish({ ends, items }: { ends?: unknown[][]; items: Ending[] }): { status: number; body: unknown } {
    for (const [job_id, attempt, token, , , , , result] of ends ?? [])
      this.endings.push({ job_id: String(job_id), attempt, token, result });
    for (const { job_id, small_output = {} } of items) {
      for (const [stream, text] of Object.entries(small_output as Record<string, string>))
        this.outputs.set(`${job_id}/output/${stream}`, Buffer.from(text, "base64"));
    }
    this.endings.push(...items);
    const answers = items.map(({ job_id }) => ({ job_id, status: "completed" }));
    return { status: 200, body: { items: answers, ...(ends === undefined ? {} : { ends: [] }) } };
  }

  #append(name: string, offset: number, bytes: Buffer): { status: number; body: unknown } {
    const before = this.outputs.get(name) ?? Buffer.alloc(0);
    if (offset !== before.length) return offsetConflict(before.length);
    this.outputs.set(name, Buffer.concat([before, bytes]));
    return { status: 200, body: { size: before.length + bytes.length } };
  }
}

export function offsetConflict(size: number): { status: number; body: unknown } {
  return {
    status: 409,
    body: { error: { code: "OUTPUT_OFFSET", message: "", request_id: "", details: { size } } },
  };
}
