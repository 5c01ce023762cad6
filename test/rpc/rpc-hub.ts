import { readFileSync } from "node:fs";
import { join } from "node:path";
import { credentials, loadPackageDefinition, Metadata, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { issueHomeCert } from "../../src/hub/admin.ts";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { startedForAll } from "../support/use-hub.ts";
import { authorityOf, type Pair } from "./forge-certificate.ts";

const protoFile = join(import.meta.dirname, "../../proto/writ/v1/job_service.proto");

export type RpcHub = TestHub & { grpcPort: number; ca: string; root: Pair };

/** A hub as in the tests of HTTP, with its gRPC port. */
export async function startRpcHub(
  env: Record<string, string> = {},
  options: { home?: string; clock?: Clock } = {},
): Promise<RpcHub> {
  const hub = await startTestHub({ ...stillEnv, WRIT_GRPC_PORT: "0", ...env }, options);
  const { grpc_port } = JSON.parse(readFileSync(join(hub.home, "hub.json"), "utf8"));
  return {
    ...hub,
    grpcPort: grpc_port,
    ca: authorityOf(hub.home).cert,
    root: certificateOf(join(hub.home, "certs/root")),
  };
}

/** One such hub for all tests of the file that calls this. */
export function rpcHubForAll(env: Record<string, string> = {}): RpcHub {
  return startedForAll(() => startRpcHub(env));
}

function certificateOf(folder: string): Pair {
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  return { cert: read("client.crt"), key: read("client.key") };
}

/** A certificate as an administrator issues it. */
export async function issueTo(
  hub: Pick<RpcHub, "home">,
  user: string,
  tenant: string,
  isAdmin = false,
): Promise<Pair & { serial: string; folder: string }> {
  const out = join(hub.home, `issued-${user}-${tenant}-${isAdmin}-${crypto.randomUUID()}`);
  const call = { home: hub.home, env: {}, osUser: "root", nowMs: Date.now() };
  const { serial } = await issueHomeCert({ ...call, user, tenant, isAdmin, out });
  return { ...certificateOf(out), serial, folder: out };
}

type Message = Record<string, unknown>;
export type Refusal = { code: number; details: string; writCode: string | undefined };

export type Stub = {
  call<T = Message>(method: string, request: Message): Promise<T>;
  /** The refusal of a call that must not succeed. */
  refused(method: string, request: Message): Promise<Refusal>;
  stream(request: Message): AsyncIterable<OutputMessage>;
  close(): void;
};

export type OutputMessage = { data: Buffer; offset: number; attempt: number };

/** A client that is not ours: grpc-js, from the proto file alone. */
export function stubFor(hub: { grpcPort: number; ca: string }, { cert, key }: Pair): Stub {
  const definition = loadSync(protoFile, { keepCase: true, longs: Number, enums: String, defaults: true });
  const loaded = loadPackageDefinition(definition) as unknown as {
    writ: { v1: { JobService: new (address: string, creds: unknown) => Client } };
  };
  const creds = credentials.createSsl(Buffer.from(hub.ca), Buffer.from(key), Buffer.from(cert));
  const client = new loaded.writ.v1.JobService(`localhost:${hub.grpcPort}`, creds);
  const call = <T>(method: string, request: Message) =>
    new Promise<T>((resolve, reject) => {
      client[method]!(request, new Metadata(), (error: ServiceError | null, answer: T) =>
        error === null ? resolve(answer) : reject(error),
      );
    });
  return {
    call,
    refused: async (method, request) => {
      const answer = await call(method, request).catch((error: ServiceError) => error);
      if (!(answer instanceof Error))
        throw new Error(`${method} was to be refused: ${JSON.stringify(answer)}`);
      return refusalIn(answer);
    },
    stream: (request) => client["StreamOutput"]!(request) as ReturnType<Stub["stream"]>,
    close: () => client["close"]!(),
  };
}

/** A client for all tests of the file that calls this, with the certificate that `whose` gives it. */
export function stubForAll(hub: RpcHub, whose: () => Pair | Promise<Pair>): Stub {
  return startedForAll(async () => {
    const stub = stubFor(hub, await whose());
    return { ...stub, stop: async () => stub.close() };
  });
}

export function refusalIn(error: unknown): Refusal {
  const { code, details, metadata } = error as ServiceError;
  return { code, details, writCode: metadata?.get("writ-code")[0] as string | undefined };
}

type Client = Record<string, (...args: unknown[]) => unknown>;

/** All bytes of a stream; each message must go on where the one before ended. */
export async function readAll(messages: AsyncIterable<OutputMessage>, from = 0): Promise<Buffer> {
  const parts: Buffer[] = [];
  let at = from;
  for await (const { data, offset } of messages) {
    if (offset !== at) throw new Error(`a message at ${offset} follows one that ended at ${at}`);
    at += data.length;
    parts.push(data);
  }
  return Buffer.concat(parts);
}

/** Starts a command that no worker will run and gives its id. */
export async function start(stub: Stub, request: Record<string, unknown> = {}): Promise<string> {
  const { job_id } = await stub.call<{ job_id: string }>("StartJob", { command: ["true"], ...request });
  return job_id;
}

/** All pages, one after the other. */
export async function list(stub: Stub, filter: Record<string, unknown> = {}): Promise<{ job_id: string }[]> {
  const jobs: { job_id: string }[] = [];
  let page_token = "";
  do {
    const page = await stub.call<{ jobs: { job_id: string }[]; next_page_token: string }>("ListJobs", {
      ...filter,
      page_token,
    });
    jobs.push(...page.jobs);
    page_token = page.next_page_token;
  } while (page_token !== "");
  return jobs;
}
