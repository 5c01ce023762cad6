import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { loadSync, type ServiceDefinition } from "@grpc/proto-loader";
import type { jobService, jobStatus as jobStatusTable } from "../../src/contract/gen/writ/v1/job_service.ts";
import type { GrpcStatus } from "../../src/core/errors.ts";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../src/hub/certs/make-certificate.ts";
import type { MessageInit, MessageOf } from "../../src/runtime/grpc/wire-message.ts";

type Methods = typeof jobService;
type Answer<N extends keyof Methods> = MessageInit<Methods[N]["output"]>;

/** What the hub of a test answers; what is missing is UNIMPLEMENTED. */
export type RpcService = {
  [N in keyof Methods]?: (
    request: MessageOf<Methods[N]["input"]>,
    call: { signal: AbortSignal },
  ) => N extends "streamOutput" ? AsyncIterable<Answer<N>> : Answer<N> | Promise<Answer<N>>;
};

export type TinyRpcHub = {
  /** As `writ certs issue` fills one: the hub's address, the authority and a certificate. */
  home: string;
  port: number;
  /** Cuts every connection, as a crash would. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

const dayMs = 86_400_000;
const protoFile = join(import.meta.dirname, "../../proto/writ/v1/job_service.proto");

/** A gRPC server that is not ours, behind the same TLS as a hub's, which answers as a test says. */
export async function startTinyRpcHub(
  service: RpcService,
  { isExpired = false }: { isExpired?: boolean } = {},
): Promise<TinyRpcHub> {
  const nowMs = Date.now();
  const authority = await makeAuthority(nowMs);
  const own = await makeServerCertificate(authority, { hosts: ["localhost", "127.0.0.1", "::1"], nowMs });
  const person = { user: "tester", tenant: "default", isAdmin: true };
  const shown = await makeClientCertificate(authority, {
    ...person,
    nowMs: nowMs - (isExpired ? 400 * dayMs : 0),
  });

  const server = new Server();
  const definition = loadSync(protoFile, { keepCase: true, longs: Number, enums: String, defaults: true });
  server.addService(definition["writ.v1.JobService"] as ServiceDefinition, handlersOf(service));
  const pair = { private_key: Buffer.from(own.keyPem), cert_chain: Buffer.from(own.certPem) };
  const trust = ServerCredentials.createSsl(Buffer.from(authority.certPem), [pair], true);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", trust, (error, bound) => (error ? reject(error) : resolve(bound)));
  });

  const home = mkdtempSync(join(tmpdir(), "writ-rpc-"));
  writeFileSync(join(home, "hub.json"), JSON.stringify({ url: "http://127.0.0.1:1", grpc_port: port }));
  writeFileSync(join(home, "ca.crt"), authority.certPem);
  writeFileSync(join(home, "client.crt"), shown.certPem);
  writeFileSync(join(home, "client.key"), shown.keyPem, { mode: 0o600 });
  return {
    home,
    port,
    cut: () => server.drain(`127.0.0.1:${port}`, 0),
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The error of a service that refuses a call with this status. */
export function refusal(name: GrpcStatus, message: string, headers: Record<string, string> = {}): Error {
  const metadata = new Metadata();
  for (const [header, value] of Object.entries(headers)) metadata.set(header, value);
  return Object.assign(new Error(message), { code: status[name], details: message, metadata });
}

function handlersOf({ streamOutput, ...others }: RpcService) {
  const unaries = Object.entries(others).map(([name, act]) => [name, unary(act as Act)]);
  return {
    ...Object.fromEntries(unaries),
    ...(streamOutput && { streamOutput: streamed(streamOutput as Act) }),
  };
}

type Act = (request: object, call: { signal: AbortSignal }) => unknown;

function unary(act: Act) {
  return (call: ServerUnaryCall<object, object>, answer: sendUnaryData<object>): void => {
    const acting = async () => (await act(call.request, { signal: signalOf(call) })) as object;
    acting().then(
      (message) => answer(null, message),
      (error) => answer(error),
    );
  };
}

function streamed(act: Act) {
  return async (call: ServerWritableStream<object, object>): Promise<void> => {
    const signal = signalOf(call);
    try {
      for await (const message of act(call.request, { signal }) as AsyncIterable<object>) {
        if (!call.write(message)) await Promise.race([once(call, "drain"), once(call, "cancelled")]);
        if (signal.aborted) return;
      }
      call.end();
    } catch (error) {
      call.emit("error", error);
    }
  };
}

function signalOf(call: { on(event: "cancelled", listener: () => void): unknown }): AbortSignal {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort());
  return controller.signal;
}

/** A job as a hub shows it over gRPC; by default it runs in its first attempt. */
export function jobStatus(
  fields: MessageInit<typeof jobStatusTable> = {},
): MessageInit<typeof jobStatusTable> {
  return {
    job_id: "01890000-0000-7000-8000-000000000001",
    user: "tester",
    tenant: "default",
    type: "exec",
    command: ["echo", "hello world"],
    state: "RUNNING",
    attempt: 1,
    created_at: 1,
    ...fields,
  };
}
