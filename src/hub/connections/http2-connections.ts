import type { Http2SecureServer, Http2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../runtime/service.ts";

/**
 * A connection whose right has ended is asked to close at the next check and destroyed at the one after: within 5 s.
 */
const checkMs = 2_000;
/** How long a client may take after the handshake to start HTTP/2. */
const helloMs = 10_000;
/** A connection without a call is closed after this time; clients open another one when they need it. */
const idleMs = 300_000;
/** How often a client is pinged, and how long it may take to answer. */
const pingEveryMs = 60_000;
const pongMs = 20_000;
/** The kernel sends keep-alives too: before there is a session, it is the only check. */
const keepAliveMs = 60_000;

type Connection = {
  session: Http2Session;
  socket: Socket;
  openedMs: number;
  hasBegun: boolean;
  calls: number;
  /** When its last call ended. */
  idleSinceMs: number;
  pingedMs: number;
  isAnswerDue: boolean;
  isClosing: boolean;
};

type Options = {
  clock: Clock;
  onError(error: unknown): void;
  /** Returns the rules of the moment, at each check. Without it, every connection may stay. */
  rightsNow?(): (session: Http2Session) => boolean;
};

/**
 * The open connections of an HTTP/2 port. Closes those without calls, and those whose right has ended. Why: ADR 0094.
 */
export class Http2Connections implements Service {
  readonly name = "HTTP/2 connections";
  readonly #clock: Clock;
  readonly #rightsNow: NonNullable<Options["rightsNow"]>;
  readonly #looks: Service;
  readonly #open = new Set<Connection>();
  /** All sockets, including those that have not finished their handshake. */
  readonly #sockets = new Set<Socket>();

  constructor(server: Http2SecureServer, { clock, onError, rightsNow = () => () => true }: Options) {
    this.#clock = clock;
    this.#rightsNow = rightsNow;
    this.#looks = repeat({ name: this.name, intervalMs: checkMs, clock, onError }, () => this.#look());
    server.on("connection", (socket) => this.#addSocket(socket));
    server.on("session", (session) => this.#addSession(session));
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Announces to every client that no new calls are accepted, and lets current ones end. */
  closeAll(): void {
    for (const { session } of [...this.#open]) session.close();
  }

  /**
   * Destroys the sockets, not the sessions: a closed session waits for a client that may never read or answer again.
   */
  destroyAll(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  #addSocket(socket: Socket): void {
    socket.setKeepAlive(true, keepAliveMs);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #addSession(session: Http2Session): void {
    const nowMs = this.#clock.monotonicMs();
    const connection: Connection = {
      session,
      socket: socketBelow(session.socket as TLSSocket),
      openedMs: nowMs,
      hasBegun: false,
      calls: 0,
      idleSinceMs: nowMs,
      pingedMs: nowMs,
      isAnswerDue: false,
      isClosing: false,
    };
    this.#open.add(connection);
    session.once("close", () => this.#open.delete(connection));
    session.once("remoteSettings", () => {
      connection.hasBegun = true;
    });
    session.on("stream", (stream) => {
      connection.calls++;
      stream.once("close", () => {
        connection.calls--;
        connection.idleSinceMs = this.#clock.monotonicMs();
      });
    });
  }

  #look(): void {
    const mayStay = this.#rightsNow();
    const nowMs = this.#clock.monotonicMs();
    for (const connection of [...this.#open]) {
      if (!mayStay(connection.session)) close(connection, { evenInUse: true });
      else if (!connection.hasBegun && nowMs - connection.openedMs > helloMs) connection.socket.destroy();
      else if (connection.calls === 0 && nowMs - connection.idleSinceMs > idleMs) close(connection);
      else ping(connection, nowMs);
    }
  }
}

/** Asks the client to close; a connection that is still open at the next check is destroyed. */
function close(connection: Connection, { evenInUse = false } = {}): void {
  const { session, socket, isClosing, calls } = connection;
  if (isClosing && (evenInUse || calls === 0)) return void socket.destroy();
  connection.isClosing = true;
  session.close();
}

function ping(connection: Connection, nowMs: number): void {
  const { session, socket, pingedMs, isAnswerDue, isClosing } = connection;
  if (isAnswerDue && nowMs - pingedMs > pongMs) return void socket.destroy();
  if (isAnswerDue || isClosing || nowMs - pingedMs < pingEveryMs) return;
  connection.pingedMs = nowMs;
  connection.isAnswerDue = session.ping((error) => {
    if (error === null) connection.isAnswerDue = false;
  });
}

/** The TCP socket below a TLS socket: destroying it always takes effect at once, whatever state TLS is in. */
export function socketBelow(socket: TLSSocket): Socket {
  const { _parent: parent } = socket as TLSSocket & { _parent?: Socket };
  return parent ?? socket;
}
