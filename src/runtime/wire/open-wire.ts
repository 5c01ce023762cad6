import type { Socket } from "node:net";
import type { Clock } from "../clock/clock.ts";
import { ConnectionFailure } from "../http/connection-failure.ts";
import { type ConnectOptions, connectMsMax, openSocket } from "../http/open-connection.ts";
import { joinPath } from "../hubs/hub-address.ts";
import { readLimits, type WireLimits, wireHeader, wirePath, wireProtocol, writeLimits } from "./frame.ts";
import { answerCredit } from "./wire-connection.ts";

type UpgradeRequest = {
  url: URL;
  tls?: ConnectOptions["tls"];
  /** Those of every request on it, the authorization among them. */
  headers: Readonly<Record<string, string>>;
  clock: Pick<Clock, "setTimer">;
};

/** Null if the hub, or a proxy before it, answers but does not upgrade. */
type Upgraded = { socket: Socket; limits: WireLimits; early: Buffer } | null;

const headBytesMax = 16 * 1024;
/** The token is not valid, or the hub stops or has no database: another answer may follow soon. */
const mayAskAgain = /^HTTP\/1\.1 (?:401|429|5\d\d) /;

/**
 * Asks a hub for a connection with frames. Rejects with a ConnectionFailure if there is no connection or no
 * answer. The socket does not keep the process alive. Why: ADR 0126.
 */
export function openWire(request: UpgradeRequest): Promise<Upgraded> {
  const { url, tls, clock } = request;
  const socket = openSocket(url, { clock, ...(tls && { tls }) });
  socket.unref();
  socket.write(upgradeRequest(request), "latin1");
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const listeners = {
      data(bytes: Buffer) {
        read = Buffer.concat([read, bytes]);
        const headEnd = read.indexOf("\r\n\r\n");
        if (headEnd === -1 && read.length <= headBytesMax) return;
        const head = headEnd === -1 ? "" : read.toString("latin1", 0, headEnd);
        if (mayAskAgain.test(head)) return fail("no upgrade at present");
        const limits = limitsIn(head);
        leave();
        if (limits === null) socket.destroy();
        resolve(limits && { socket: socket.pause(), limits, early: read.subarray(headEnd + 4) });
      },
      error: (error: NodeJS.ErrnoException) => fail(error.code ?? error.message),
      end: () => fail("ECONNRESET"),
      close: () => fail("ECONNRESET"),
    };
    const leave = (): void => {
      timer.cancel();
      for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
      // Until somebody else listens, an error would end the process.
      socket.on("error", () => {});
    };
    const fail = (reason: string): void => {
      leave();
      socket.destroy();
      reject(new ConnectionFailure(reason, { wasStale: false, wasSent: false }));
    };
    const timer = clock.setTimer(() => fail(`no answer within ${connectMsMax} ms`), connectMsMax);
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  });
}

function upgradeRequest({ url, headers }: UpgradeRequest): string {
  const lines = Object.entries({
    host: url.host,
    connection: "Upgrade",
    upgrade: wireProtocol,
    // Requests are counted by the hub; this side bounds its answers.
    [wireHeader]: writeLimits({ credit: answerCredit, requests: 1 }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${joinPath(url, wirePath)} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Null unless this is the answer of a hub that agrees. */
function limitsIn(head: string): WireLimits | null {
  const [status = "", ...lines] = head.split("\r\n");
  if (!/^HTTP\/1\.1 101(?: |$)/.test(status)) return null;
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  if (headers.get("upgrade")?.toLowerCase() !== wireProtocol) return null;
  return readLimits(headers.get(wireHeader));
}
