import { connect, isIP, type Socket, type TcpNetConnectOpts } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { Clock } from "../clock/clock.ts";
import { HttpConnection } from "./connection.ts";
import type { FindConnection } from "./open-request.ts";

export type ConnectOptions = {
  clock: Pick<Clock, "setTimer">;
  /** How long it may take; without it, only the caller gives up. */
  connectMs?: number | undefined;
  /** How names become addresses. */
  net?: Pick<TcpNetConnectOpts, "lookup" | "autoSelectFamily" | "autoSelectFamilyAttemptTimeout">;
  /** The authorities to trust, for https. */
  tls?: Pick<ConnectionOptions, "ca" | "minVersion" | "rejectUnauthorized">;
  /** Called with the socket before it is connected. */
  onSocket?: ((socket: Socket) => void) | undefined;
  onGone?: (() => void) | undefined;
};

/** A server that disappeared (power, firewall) must not cost the whole time of a long poll. */
export const connectMsMax = 5_000;

/** A connection for one request to the server of a URL. */
export function connectionTo(url: URL, options: ConnectOptions): FindConnection {
  return (found) => {
    found(openConnection(url, options));
    return () => {};
  };
}

/** Returns at once: what is sent waits in the socket until it is connected. Why: ADR 0113. */
export function openConnection(url: URL, options: ConnectOptions): HttpConnection {
  const { clock, connectMs, onGone } = options;
  const socket = openSocket(url, options);
  const connected = url.protocol === "https:" ? "secureConnect" : "connect";
  const connection = new HttpConnection(socket, onGone);
  socket.once(connected, () => {
    connection.isConnected = true;
  });
  if (connectMs === undefined) return connection;
  const timer = clock.setTimer(() => connection.destroy(`no connection within ${connectMs} ms`), connectMs);
  socket.once(connected, () => timer.cancel());
  socket.once("close", () => timer.cancel());
  return connection;
}

/** A socket that is being connected to the server of a URL, with TLS if the URL says so. */
export function openSocket(url: URL, { net, tls, onSocket }: ConnectOptions): Socket {
  const isTls = url.protocol === "https:";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const address = { host, port: Number(url.port) || (isTls ? 443 : 80), ...net };
  const socket = isTls
    ? connectTls({
        ...address,
        ...tls,
        servername: isIP(host) === 0 ? host : "",
        ALPNProtocols: ["http/1.1"],
      })
    : connect(address);
  socket.setNoDelay(true);
  onSocket?.(socket);
  return socket;
}
