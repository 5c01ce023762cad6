import type { Socket } from "node:net";
import type { EgressHost } from "../../core/egress.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { greetingMs } from "./egress-attempt.ts";
import { normalHost } from "./egress-rules.ts";
import { nextChunk } from "./next-chunk.ts";

export const socksVersion = 5;
/** Two methods of authentication at most, and the longest name. */
const greetingBytesMax = 2 + 255 + 4 + 256 + 2;

const noAuthentication = 0;
const connectCommand = 1;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;
export const socksReply = { ok: 0, denied: 2, unreachable: 4, badCommand: 7, badAddress: 8 } as const;

type SocksRequest =
  | { kind: "connect"; wanted: EgressHost; head: Buffer }
  /** It was answered, and the connection is over. */
  | { kind: "over" };

/**
 * Reads what a program asks for by SOCKS5: a connection, by name or by address, without a password. Anything else is answered
 * as the protocol says. Names are resolved by the worker.
 */
export async function readSocks(socket: Socket, first: Buffer, clock: Clock): Promise<SocksRequest> {
  const timer = clock.setTimer(() => socket.destroy(), greetingMs);
  const input = new Pieces(socket, first);
  try {
    const methods = await input.take((bytes) => (bytes.length < 2 ? 2 : 2 + bytes[1]!));
    if (methods === null) return over(socket);
    const isOpen = methods.subarray(2).includes(noAuthentication);
    socket.write(Buffer.from([socksVersion, isOpen ? noAuthentication : 0xff]));
    if (!isOpen) return over(socket);
    const request = await input.take(requestLength);
    if (request === null || request[0] !== socksVersion) return over(socket);
    if (request[1] !== connectCommand) return refuse(socket, socksReply.badCommand);
    const host = hostIn(request);
    if (host === null) return refuse(socket, socksReply.badAddress);
    const wanted = { host, port: request.readUInt16BE(request.length - 2) };
    return { kind: "connect", wanted, head: input.rest };
  } finally {
    timer.cancel();
  }
}

export function answerSocks(socket: Socket, reply: number): void {
  if (!socket.destroyed)
    socket.write(Buffer.from([socksVersion, reply, 0, addressTypes.ipv4, 0, 0, 0, 0, 0, 0]));
}

function refuse(socket: Socket, reply: number): SocksRequest {
  answerSocks(socket, reply);
  return over(socket);
}

function over(socket: Socket): SocksRequest {
  socket.end();
  return { kind: "over" };
}

/** The length of the request that begins so; of an unknown kind of address, what there is. */
function requestLength(bytes: Buffer): number {
  if (bytes.length < 5) return 5;
  switch (bytes[3]) {
    case addressTypes.ipv4:
      return 4 + 4 + 2;
    case addressTypes.ipv6:
      return 4 + 16 + 2;
    case addressTypes.name:
      return 4 + 1 + bytes[4]! + 2;
    default:
      return 5;
  }
}

function hostIn(request: Buffer): string | null {
  switch (request[3]) {
    case addressTypes.ipv4:
      return request.subarray(4, 8).join(".");
    case addressTypes.ipv6: {
      const groups = Array.from({ length: 8 }, (_, at) => request.readUInt16BE(4 + 2 * at).toString(16));
      return normalHost(groups.join(":"));
    }
    case addressTypes.name:
      return normalHost(request.subarray(5, 5 + request[4]!).toString("latin1"));
    default:
      return null;
  }
}

/** Bytes as they arrive, taken in pieces of a length that their beginning tells. */
class Pieces {
  readonly #socket: Socket;
  #bytes: Buffer;

  constructor(socket: Socket, first: Buffer) {
    this.#socket = socket;
    this.#bytes = first;
  }

  get rest(): Buffer {
    return this.#bytes;
  }

  /** Null at the end, and for more than a greeting can have. */
  async take(lengthOf: (bytes: Buffer) => number): Promise<Buffer | null> {
    for (;;) {
      const length = lengthOf(this.#bytes);
      if (this.#bytes.length >= length && lengthOf(this.#bytes.subarray(0, length)) === length) {
        const piece = this.#bytes.subarray(0, length);
        this.#bytes = this.#bytes.subarray(length);
        return piece;
      }
      if (this.#bytes.length > greetingBytesMax) return null;
      const more = await nextChunk(this.#socket);
      if (more === null) return null;
      this.#bytes = Buffer.concat([this.#bytes, more]);
    }
  }
}
