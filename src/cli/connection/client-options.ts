import type { RpcOptions } from "../../client/grpc/find-rpc.ts";
import type { WritOptions } from "../../client/options.ts";
import type { ConnectionSettings } from "./connection-settings.ts";
import { httpCredential } from "./credential.ts";

/** For a client over HTTP: with a token, the one that was given or the home's, or one that is exchanged for the certificate. */
export function httpOptions(connection: ConnectionSettings): WritOptions {
  const { hub, home, ca, allowInsecure, frames, credential, traceparent } = connection;
  const token = credential.kind === "token" ? credential.token : undefined;
  const certificate = httpCredential(connection) === "certificate" ? rpcOptions(connection) : undefined;
  return { url: hub, token, certificate, home, caFile: ca, allowInsecure, frames, traceparent };
}

/** For a client over gRPC: with the certificate that was given, else the one in the home. */
export function rpcOptions({ hub, grpc, home, ca, credential, traceparent }: ConnectionSettings): RpcOptions {
  if (credential.kind === "token") throw new Error("gRPC takes a certificate, not a token");
  const { certFile, keyFile } = credential.kind === "certificate" ? credential : {};
  const certificate = { user: credential.user, caFile: ca, certFile, keyFile };
  return { address: grpc, url: hub, home, ...certificate, traceparent };
}
