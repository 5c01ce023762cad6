import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { Server, Socket } from "node:net";
import { type EgressHost, injectSuffix } from "../../core/egress.ts";
import { answerText } from "./answer-text.ts";
import { NotConnected } from "./connect-checked.ts";
import { type EgressAttempt, endWith, greetingMs, noteRefusal } from "./egress-attempt.ts";
import { normalHost } from "./egress-rules.ts";
import { forwardRequest } from "./forward-request.ts";
import { nextChunk } from "./next-chunk.ts";
import { answerSocks, readSocks, socksReply, socksVersion } from "./socks.ts";
import { openTunnel } from "./tunnel.ts";

/** Programs that load many files at once open some dozens. Each may keep half a megabyte. */
const connectionsMax = 128;
const headBytesMax = 64 * 1024;
const plainPort = 80;

/**
 * The one way out of a closed network: speaks HTTP (also CONNECT) and SOCKS5 with the programs of one attempt, on a socket that
 * listens in their network. It ends with the attempt. Why: ADR 0120.
 */
export class EgressProxy {
  readonly #attempt: EgressAttempt;
  readonly #http: HttpServer;
  /** Connections in which the program speaks HTTP with one host, and no longer with a proxy. */
  readonly #leadTo = new WeakMap<Socket, string>();
  /** What ends the wait for the head of a request. */
  readonly #heads = new WeakMap<Socket, () => void>();
  #connections = 0;

  constructor(attempt: EgressAttempt) {
    this.#attempt = attempt;
    this.#http = createServer({ maxHeaderSize: headBytesMax, keepAlive: false, noDelay: true });
    this.#http.on("request", (request, response) => void this.#answer(request, response));
    this.#http.on("connect", (request, socket: Socket, head) => void this.#connect(request, socket, head));
    this.#http.on("clientError", (_error, socket) => this.#refuseNonsense(socket as Socket));
  }

  /** Serves what connects there until the attempt is over. */
  serve(server: Server): void {
    const { signal } = this.#attempt;
    // Node made the server, so its options can only be set now.
    Object.assign(server, { allowHalfOpen: true });
    server.on("connection", (socket) => this.#take(socket));
    server.on("error", () => {});
    const close = (): void => void server.close();
    signal.addEventListener("abort", close, { once: true });
    if (signal.aborted) close();
  }

  #take(socket: Socket): void {
    const { signal, log } = this.#attempt;
    socket.on("error", () => {});
    if (this.#connections >= connectionsMax) {
      log.deny("proxy", `has ${connectionsMax} connections already`);
      socket.destroy();
      return;
    }
    this.#connections++;
    socket.once("close", () => this.#connections--);
    socket.setNoDelay(true);
    endWith(socket, signal);
    void this.#greet(socket);
  }

  /** Its first byte tells which protocol it is. */
  async #greet(socket: Socket): Promise<void> {
    const { clock } = this.#attempt;
    const timer = clock.setTimer(() => socket.destroy(), greetingMs);
    const first = await nextChunk(socket);
    timer.cancel();
    if (first === null) return void socket.destroy();
    if (first[0] === socksVersion) await this.#serveSocks(socket, first);
    else this.#serveHttp(socket, first);
  }

  /** The whole head of a request has to arrive in time, and then the connection is as old as its request. */
  #serveHttp(socket: Socket, first: Buffer): void {
    const timer = this.#attempt.clock.setTimer(() => socket.destroy(), greetingMs);
    this.#heads.set(socket, () => timer.cancel());
    socket.once("close", () => timer.cancel());
    if (first.length > 0) socket.unshift(first);
    this.#http.emit("connection", socket);
    // It rests since its first bytes were looked at.
    socket.resume();
  }

  async #serveSocks(socket: Socket, first: Buffer): Promise<void> {
    const asked = await readSocks(socket, first, this.#attempt.clock);
    if (asked.kind === "over") return;
    const open = (): void => answerSocks(socket, socksReply.ok);
    const refuse = (error: NotConnected): void => {
      answerSocks(socket, error.kind === "denied" ? socksReply.denied : socksReply.unreachable);
      socket.end();
    };
    await this.#lead({ client: socket, head: asked.head, wanted: asked.wanted, open, refuse });
  }

  async #connect(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    this.#heads.get(socket)?.();
    socket.on("error", () => {});
    const wanted = authorityOf(request.url ?? "");
    const nested = this.#leadTo.has(socket);
    if (wanted === null || nested) return this.#refuseNonsense(socket);
    const open = (): void => void socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    const refuse = (error: NotConnected, text: string): void => {
      const status = error.kind === "denied" ? "403 Forbidden" : "502 Bad Gateway";
      socket.end(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${text}\n`);
    };
    await this.#lead({ client: socket, head, wanted, open, refuse });
  }

  async #lead({ refuse, ...request }: Leading): Promise<void> {
    const { wanted, client, head, open } = request;
    // In such a connection the program speaks plain HTTP, and the worker is the server.
    if (wanted.port === plainPort && wanted.host.endsWith(injectSuffix)) {
      this.#leadTo.set(client, wanted.host);
      open();
      return this.#serveHttp(client, head);
    }
    try {
      await openTunnel(this.#attempt, request);
    } catch (error) {
      if (this.#attempt.signal.aborted) return;
      const text = noteRefusal(this.#attempt.log, wanted, error);
      refuse(error as NotConnected, text);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    this.#heads.get(socket)?.();
    response.on("error", () => {});
    // One request for each connection: the next one may be for another host, and a new connection costs nothing here.
    response.shouldKeepAlive = false;
    const target = targetOf(request, this.#leadTo.get(socket));
    if (target === null) {
      this.#attempt.log.deny("proxy", "was asked in a way that is no request to a proxy");
      answerText(response, 400, "this is a proxy: ask it for http://HOST/PATH, or CONNECT HOST:PORT");
      return;
    }
    try {
      await forwardRequest(this.#attempt, { request, response, target });
    } catch (error) {
      if (this.#attempt.signal.aborted) return;
      if (!(error instanceof NotConnected)) return void response.destroy();
      const text = noteRefusal(this.#attempt.log, target.wanted, error);
      answerText(response, error.kind === "denied" ? 403 : 502, text);
    }
  }

  #refuseNonsense(socket: Socket): void {
    this.#attempt.log.deny("proxy", "was asked in a way that is no request to a proxy");
    if (!socket.writable) return void socket.destroy();
    socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
  }
}

type Leading = {
  client: Socket;
  head: Buffer;
  wanted: EgressHost;
  open(): void;
  refuse(error: NotConnected, text: string): void;
};

/** What a request for plain HTTP is about. */
type Target = { wanted: EgressHost; path: string };

function targetOf({ url = "" }: IncomingMessage, leadTo: string | undefined): Target | null {
  if (leadTo !== undefined && url.startsWith("/")) {
    return { wanted: { host: leadTo, port: plainPort }, path: url };
  }
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== "http:" || !/^http:\/\//i.test(url)) return null;
  if (parsed.username !== "" || parsed.password !== "") return null;
  const host = normalHost(parsed.hostname);
  if (host === null || (leadTo !== undefined && host !== leadTo)) return null;
  return { wanted: { host, port: Number(parsed.port) || plainPort }, path: parsed.pathname + parsed.search };
}

function authorityOf(text: string): EgressHost | null {
  const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text);
  const host = match === null ? null : normalHost(match[1]!);
  const port = Number(match?.[2]);
  return host === null || port < 1 || port > 65_535 ? null : { host, port };
}
