import { Agent, type AgentOptions, type Server } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";

/**
 * Connects calls to a server that does not listen: each connection is a pair of streams in memory. Requests and answers
 * still pass through Node's HTTP parser, so a bad request arrives as it was sent.
 */
export class MemoryAgent extends Agent {
  readonly #server: Server;

  constructor(server: Server) {
    super({ keepAlive: false });
    this.#server = server;
  }

  override createConnection(options: AgentOptions & { localAddress?: string }): Duplex {
    const [near, far] = duplexPair();
    // As with a real connection, a client that hangs up need not have read everything.
    near.once("close", () => far.destroy());
    const { localAddress: remoteAddress = "127.0.0.1" } = options;
    this.#server.emit("connection", Object.assign(far, { remoteAddress }) as unknown as Socket);
    return near;
  }
}
