import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type TLSSocket } from "node:tls";
import { WritError } from "../../core/errors.ts";
import { createHttpClient } from "../../runtime/http/http-client.ts";
import { type GrpcAddress, parseGrpcAddresses } from "../../runtime/hubs/grpc-address.ts";

type NewHub = {
  to: readonly string[];
  toGrpc: string;
  /** The authorities that callers trust for the new hub; by default those of the system. */
  httpCa: string | undefined;
  grpcCa: string;
  /** The certificate of the forwarder's HTTP port, as PEM. */
  ownCert: string;
  /** Sent with each request, so that the forwarder recognises its own. It is no secret. */
  headers: Record<string, string>;
};

const answerMsMax = 5_000;

/**
 * Returns what is wrong with the new addresses at present, as callers would find them. Throws if they lead to a hub of
 * another installation: over plain HTTP, which proves nothing, callers would send it their tokens. Why: ADR 0090.
 */
export async function checkNewHub({
  to,
  toGrpc,
  httpCa,
  grpcCa,
  ownCert,
  headers,
}: NewHub): Promise<string[]> {
  const http = await Promise.all(to.map((address) => httpProblem(address, { ca: httpCa, ownCert, headers })));
  const grpc = await Promise.all(
    parseGrpcAddresses(toGrpc).map((address) => grpcProblem(address, { ca: grpcCa, headers })),
  );
  const stranger = grpc.find((problem) => problem?.isStrange);
  const plain = to.find((address) => address.startsWith("http:"));
  if (stranger && plain !== undefined)
    throw new WritError("CONFIG_INVALID", `--to: ${plain} is not the hub of this home: ${stranger.says}`);
  return [...http, ...grpc.map((problem) => problem?.says ?? null)].filter((problem) => problem !== null);
}

async function httpProblem(
  address: string,
  { ca, ownCert, headers }: Pick<NewHub, "ownCert" | "headers"> & { ca: string | undefined },
): Promise<string | null> {
  const client = createHttpClient({ baseUrls: [address], ca });
  try {
    const question = { method: "GET", path: "/healthz", headers, timeoutMs: answerMsMax };
    const { status } = await client.request(question);
    return status === 200 ? null : `${address} answers ${status} at present; is it the new hub?`;
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    if (address.startsWith("https:")) await knock(address, { ownCert, headers });
    return `${error.message}; callers try it again until it answers`;
  } finally {
    client.close();
  }
}

/**
 * Sends the request again without checking names, but only to a server with the forwarder's own certificate. A name of
 * this machine that is not in that certificate leads to the forwarder itself, which notices that only when a request
 * arrives.
 */
async function knock(
  address: string,
  { ownCert, headers }: Pick<NewHub, "ownCert" | "headers">,
): Promise<void> {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, "");
  const signal = AbortSignal.timeout(answerMsMax);
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal });
    const own = new X509Certificate(ownCert).fingerprint256;
    if (socket.getPeerX509Certificate()?.fingerprint256 !== own) return;
    const lines = Object.entries({ host: hostname, connection: "close", ...headers });
    socket.end(
      `GET /healthz HTTP/1.1\r\n${lines.map(([name, text]) => `${name}: ${text}\r\n`).join("")}\r\n`,
    );
    await once(socket, "data", { signal });
  } catch {
    // The check before this one has already reported the problem.
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

type GrpcProblem = { says: string; isStrange: boolean };

/** The gRPC port answers only with a user's certificate, but the hub presents its own first. */
async function grpcProblem(
  { host, port }: GrpcAddress,
  { ca, headers }: { ca: string; headers: Record<string, string> },
): Promise<GrpcProblem | null> {
  const place = { host: host.replace(/^\[|\]$/g, ""), port };
  // The authority decides and not the name in the certificate, which may be one that only other machines use.
  const socket = connect({
    ...place,
    ca,
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.3",
    rejectUnauthorized: false,
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(answerMsMax) });
    await knockHttp2(socket, headers);
    if (socket.authorized) return null;
    const { code } = socket.authorizationError as NodeJS.ErrnoException;
    if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
      return { says: `the certificate of ${host}:${port} is not made for that name`, isStrange: false };
    const says = `the gRPC port ${host}:${port} shows a certificate of another authority (${code}); take \`certs\` along to the new home`;
    return { says, isStrange: true };
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    const reason = name === "AbortError" ? `no answer within ${answerMsMax / 1000} s` : (code ?? message);
    const says = `no hub can be reached for gRPC (${host}:${port}: ${reason}); is --to-grpc the address of the new hub?`;
    return { says, isStrange: false };
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

/** A hub requires a certificate; only a forwarder answers without one, and that may be this forwarder. */
async function knockHttp2(socket: TLSSocket, headers: Record<string, string>): Promise<void> {
  const signal = AbortSignal.timeout(answerMsMax);
  const session = connectHttp2(`https://${socket.remoteAddress}`, { createConnection: () => socket });
  session.on("error", () => {});
  try {
    const stream = session.request({ ":method": "POST", ":path": "/", ...headers }, { signal });
    stream.on("error", () => {}).end();
    await once(stream, "close");
  } catch {
    // No answer: it is not a forwarder.
  } finally {
    session.destroy();
  }
}
