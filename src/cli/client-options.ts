import type { RpcOptions } from "../client/find-rpc.ts";
import type { WritOptions } from "../client/options.ts";
import type { Connection } from "./connection-settings.ts";

/** For a client over HTTP: with the token that was given, else the one in the home. */
export function httpOptions({ hub, home, ca, allowInsecure, credential }: Connection): WritOptions {
  const token = credential.kind === "token" ? credential.token : undefined;
  return { url: hub, token, home, caFile: ca, allowInsecure };
}

/** For a client over gRPC: with the certificate that was given, else the one in the home. */
export function rpcOptions({ hub, grpc, home, ca, credential }: Connection): RpcOptions {
  if (credential.kind === "token") throw new Error("gRPC takes a certificate, not a token");
  const { certFile, keyFile } = credential.kind === "certificate" ? credential : {};
  return { address: grpc, url: hub, home, user: credential.user, caFile: ca, certFile, keyFile };
}
