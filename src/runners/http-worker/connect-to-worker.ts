import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hasCode } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { connectInside } from "../../sandbox/launcher/connect-inside.ts";
import { RunFailure } from "../runner.ts";
import { areOpenIn, programWith } from "./listeners.ts";
import { type PortSockets, readPortSockets } from "./port-sockets.ts";
import { shareNext } from "./share-next.ts";

/** The address of a worker, and its processes. */
type WorkerAddress = {
  port: number;
  /** In a directory that only the worker's own processes and this one can reach. A worker that listens there needs no port. */
  socketFile: string;
  /** Its living processes. */
  pids(): Promise<readonly number[]>;
  /** One of them, if they have a network of their own, where no other program can listen on a port. */
  pidInside?(): number | undefined;
};

/** Opens connections to one worker. */
export type WorkerConnections = {
  /**
   * Resolves with a connection that ends in a process of the worker, and on which nothing was sent yet. Rejects with a
   * RunFailure if another program listens on the port.
   */
  open(signal: AbortSignal): Promise<Duplex>;
};

/** Opens a file only to name it; Node has no name for this flag of Linux. */
const pathOnly = 0o10000000;
/** What Linux allows; a program that is told a longer one cannot listen there. */
export const socketPathBytesMax = 107;
/** When the queue of a socket is full. */
const queueMs = 5;

/**
 * Connects to the socket in the worker's own directory if it exists, else to its port. Any program on this machine can
 * listen on the same port beside the worker, on the other loopback address or on the same with SO_REUSEPORT, at any
 * moment. So each connection is checked when it is open and before anything is sent.
 */
export function workerConnections(clock: Clock, address: WorkerAddress): WorkerConnections {
  // Connections that were opened at about the same time are checked together.
  const look = shareNext(() => readPortSockets(address.port));
  return {
    async open(signal) {
      const bySocket = await connectToSocket(clock, address.socketFile, signal);
      if (bySocket !== undefined) return bySocket;
      const pid = address.pidInside?.();
      if (pid !== undefined) return connectInside({ pid, port: address.port }, signal);
      const socket = await connectToPort(address.port, signal);
      try {
        const problem = findStranger(address.port, socket, {
          sockets: await look(),
          pids: await address.pids(),
        });
        if (problem !== null) throw new RunFailure("EXECUTION_ERROR", "WORKER_NOT_READY", problem);
        return socket;
      } catch (error) {
        socket.destroy();
        throw error;
      }
    },
  };
}

/**
 * Why a connection may not be used; null if it ends in one of these processes and no other program listens on the port.
 */
function findStranger(
  port: number,
  { localAddress = "", localPort = 0 }: Socket,
  { sockets, pids }: { sockets: PortSockets; pids: readonly number[] },
): string | null {
  const { listeners } = sockets;
  const end = sockets.otherEndOf({ localAddress, localPort });
  const used = end === null || end === undefined ? listeners : [...listeners, end];
  if (!areOpenIn(used, pids)) return portInUse(port, used);
  // The connection was closed before the check, or the sockets that could accept it are gone.
  const isOpen = end === null ? listeners.length > 0 : end !== undefined;
  return isOpen ? null : portInUse(port);
}

/** The program is named if it may be: see `programWith`. */
export function portInUse(port: number, listeners: readonly string[] = []): string {
  const owner = programWith(listeners) ?? "another program on this machine";
  return `port ${port} is used by ${owner}, which this worker did not start for you; use another port, or end that program`;
}

/** Undefined if there is no such socket. */
async function connectToSocket(clock: Clock, file: string, signal: AbortSignal): Promise<Socket | undefined> {
  const fd = openSocketFile(file);
  if (fd === undefined) return undefined;
  try {
    while (true) {
      try {
        // By descriptor, which is short enough for any directory, and cannot be exchanged for a link meanwhile.
        return await connected(connect({ path: `/proc/self/fd/${fd}` }), signal);
      } catch (error) {
        if (!hasCode(error, "EAGAIN")) throw error;
        await clock.sleep(queueMs, signal);
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** A link is not followed: the worker could have it lead to any socket of this machine. */
function openSocketFile(file: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(file, pathOnly | constants.O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  if (fstatSync(fd).isSocket()) return fd;
  closeSync(fd);
  return undefined;
}

/** Some servers listen on one of the two addresses only. */
async function connectToPort(port: number, signal: AbortSignal): Promise<Socket> {
  try {
    return await connected(connect({ host: "127.0.0.1", port }), signal);
  } catch (error) {
    if (!hasCode(error, "ECONNREFUSED")) throw error;
    // The first of the two says more: a machine without IPv6 refuses the second in another way.
    return await connected(connect({ host: "::1", port }), signal).catch(() => Promise.reject(error));
  }
}

function connected(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const finish = (act: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", onError);
      socket.off("connect", onConnect);
      act();
    };
    const fail = (error: unknown): void => {
      finish(() => reject(error));
      socket.on("error", () => {}).destroy();
    };
    const onAbort = (): void => fail(signal.reason);
    const onError = (error: Error): void => fail(error);
    const onConnect = (): void =>
      finish(() => {
        // It may break before its first use, for example when the worker crashes during the check; its user then sees
        // that it is closed.
        socket.on("error", () => {});
        resolve(socket);
      });
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once("connect", onConnect);
    if (signal.aborted) onAbort();
  });
}
