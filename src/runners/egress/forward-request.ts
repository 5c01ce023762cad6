import { type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import { isIP, type Socket } from "node:net";
import { Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import { type EgressHost, injectSuffix } from "../../core/egress.ts";
import { Masker, maskText } from "../../sandbox/plain/masker.ts";
import { answerText } from "./answer-text.ts";
import { connectChecked, connectToAllowed, NotConnected } from "./connect-checked.ts";
import { type EgressAttempt, endWith, greetingMs, idleMs, textOf } from "./egress-attempt.ts";
import type { Injection } from "./injection.ts";

type Forwarding = {
  request: IncomingMessage;
  response: ServerResponse;
  target: { wanted: EgressHost; path: string };
};

const tlsPort = 443;
/** They are about one connection, and we have two. */
const ofOneConnection = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);

/**
 * Passes a request in plain HTTP on, and its answer back as it is: no redirect is followed. A request to
 * HOST.writ.internal goes to HOST by TLS, with its key. Rejects with NotConnected. Why: ADR 0120.
 */
export async function forwardRequest(attempt: EgressAttempt, forwarding: Forwarding): Promise<void> {
  const { wanted } = forwarding.target;
  if (wanted.host.endsWith(injectSuffix)) return addKey(attempt, forwarding);
  if (wanted.port === tlsPort) throw new NotConnected("denied", wanted, "is reached by TLS only");
  const server = await connectChecked(attempt, wanted, attempt);
  attempt.log.allow(textOf(wanted));
  await exchange(attempt, forwarding, { server, host: textWithout(wanted, 80), headers: {}, masks: [] });
}

async function addKey(attempt: EgressAttempt, forwarding: Forwarding): Promise<void> {
  const { wanted } = forwarding.target;
  const { method } = forwarding.request;
  const injection = attempt.injections.get(wanted.host.slice(0, -injectSuffix.length));
  if (injection === undefined || wanted.port !== 80) {
    const problem = "NO_SUCH_SECRET: this job has no key for this host";
    throw new NotConnected("denied", wanted, problem);
  }
  // It would show the request, with the key, to the program that sent it.
  if (method === "TRACE") throw new NotConnected("denied", wanted, "is not asked with TRACE");
  const plain = await connectToAllowed(attempt, injection, attempt);
  const server = await startTls(attempt, plain, injection);
  attempt.log.allow(textOf(injection));
  const headers = { ...injection.headers, "accept-encoding": "identity" };
  const host = textWithout(injection, tlsPort);
  await exchange(attempt, forwarding, { server, host, headers, masks: injection.masks });
}

/** To this host alone: the certificate has to be its own. */
function startTls({ ca, clock }: EgressAttempt, socket: Socket, to: Injection): Promise<Socket> {
  const { host } = to;
  return new Promise((resolve, reject) => {
    const tls = connectTls({
      socket,
      host,
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
      minVersion: "TLSv1.2",
      // Whatever the environment says.
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca: [...ca] }),
    });
    const timer = clock.setTimer(() => tls.destroy(new Error("no TLS in time")), greetingMs);
    tls.once("error", () =>
      reject(new NotConnected("failed", to, "has no certificate that can be trusted, or no TLS")),
    );
    tls.once("close", () => {
      timer.cancel();
      socket.destroy();
    });
    tls.once("secureConnect", () => {
      timer.cancel();
      tls.on("error", () => {});
      resolve(tls);
    });
  });
}

type Server = {
  server: Socket;
  host: string;
  headers: Readonly<Record<string, string>>;
  masks: readonly string[];
};

function exchange(attempt: EgressAttempt, forwarding: Forwarding, to: Server): Promise<void> {
  const { request, response, target } = forwarding;
  const { log, signal } = attempt;
  endWith(to.server, signal);
  to.server.setTimeout(idleMs, () => to.server.destroy());
  return new Promise((resolve) => {
    const outgoing = openRequest({
      createConnection: () => to.server,
      method: request.method,
      path: target.path,
      headers: requestHeaders(request.rawHeaders, to),
      setHost: false,
    });
    const end = (): void => {
      outgoing.destroy();
      to.server.destroy();
      resolve();
    };
    outgoing.once("error", () => {
      answerText(response, 502, "the server ended the connection");
      end();
    });
    outgoing.once("response", (incoming) => passBack(attempt, incoming, response, to.masks));
    response.once("close", end);
    request.on("data", (chunk: Buffer) => log.addBytes(chunk.length));
    request.pipe(outgoing);
  });
}

/** `masks`: what the answer must not show. */
function passBack(
  { log }: EgressAttempt,
  incoming: IncomingMessage,
  response: ServerResponse,
  masks: readonly string[],
): void {
  const encoding = incoming.headers["content-encoding"] ?? "identity";
  if (masks.length > 0 && encoding !== "identity") {
    incoming.destroy();
    answerText(response, 502, `the server answered in the encoding ${encoding}, which was not asked for`);
    return;
  }
  const { statusCode = 502, statusMessage = "" } = incoming;
  response.sendDate = false;
  response.writeHead(statusCode, maskText(statusMessage, masks), answerHeaders(incoming.rawHeaders, masks));
  response.flushHeaders();
  incoming.on("data", (chunk: Buffer) => log.addBytes(chunk.length));
  incoming.once("error", () => response.destroy());
  if (masks.length === 0) incoming.pipe(response);
  else incoming.pipe(masking(masks)).pipe(response);
}

function masking(masks: readonly string[]): Transform {
  const masker = new Masker(masks);
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, masker.push(chunk)),
    flush: (done) => done(null, masker.end()),
  });
}

/** Names and values in turn, as Node takes them. */
function requestHeaders(raw: readonly string[], { host, headers }: Server): string[] {
  const replaced = new Set(["host", ...Object.keys(headers)]);
  const kept = pairsOf(raw).filter(([name]) => !replaced.has(name.toLowerCase()));
  const own = Object.entries({ host, ...headers });
  return [...own.flat(), ...kept.flat(), "connection", "close"];
}

function answerHeaders(raw: readonly string[], masks: readonly string[]): string[] {
  const pairs = pairsOf(raw).filter(([name]) => name.toLowerCase() !== "transfer-encoding");
  return [...pairs.flatMap(([name, value]) => [name, maskText(value, masks)]), "connection", "close"];
}

/** Without what is about one connection, by the rules of HTTP or because the sender says so. */
function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at]!, raw[at + 1]!]);
  const named = pairs
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim());
  const dropped = new Set([...ofOneConnection, ...named.filter((name) => !framing.has(name))]);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()));
}

/** How long the body is says the body itself, and not the connection. */
const framing = new Set(["content-length", "transfer-encoding", "host"]);

function textWithout({ host, port }: EgressHost, usual: number): string {
  const text = textOf({ host, port });
  return port === usual ? text.slice(0, text.lastIndexOf(":")) : text;
}
