import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  JobService,
  type JobStatus,
  JobStatusSchema,
  State,
} from "../../src/contract/gen/writ/v1/job_service_pb.js";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../src/hub/certs/make-certificate.ts";

export type TinyRpcHub = {
  /** As `writ certs issue` fills one: the hub's address, the authority and a certificate. */
  home: string;
  port: number;
  /** Cuts every connection, as a crash would. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

const dayMs = 86_400_000;

/** A gRPC server behind the same TLS as a hub's, which answers as a test says. Only tests use it. */
export async function startTinyRpcHub(
  service: Partial<ServiceImpl<typeof JobService>>,
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

  const sessions = new Set<ServerHttp2Session>();
  const server = createSecureServer(
    { key: own.keyPem, cert: own.certPem, ca: authority.certPem, requestCert: true, minVersion: "TLSv1.3" },
    connectNodeAdapter({ routes: (router) => router.service(JobService, service), acceptCompression: [] }),
  );
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const home = mkdtempSync(join(tmpdir(), "writ-rpc-"));
  const { port } = server.address() as AddressInfo;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "hub.json"), JSON.stringify({ url: "http://127.0.0.1:1", grpc_port: port }));
  writeFileSync(join(home, "ca.crt"), authority.certPem);
  writeFileSync(join(home, "client.crt"), shown.certPem);
  writeFileSync(join(home, "client.key"), shown.keyPem, { mode: 0o600 });
  const cut = (): void => {
    for (const session of sessions) session.destroy();
  };
  return {
    home,
    port,
    cut,
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A job as a hub shows it over gRPC: running in its first attempt unless told. */
export function jobStatus(fields: Partial<Omit<JobStatus, "$typeName" | "$unknown">> = {}): JobStatus {
  return create(JobStatusSchema, {
    jobId: "01890000-0000-7000-8000-000000000001",
    user: "tester",
    tenant: "default",
    type: "exec",
    command: ["echo", "hello world"],
    state: State.RUNNING,
    attempt: 1,
    createdAt: 1n,
    ...fields,
  });
}
