import type { Socket } from "node:net";
import { ConnectionFailure } from "./http-exchange.ts";
import { ResponseProblem, ResponseReader, type WholeResponse } from "./response-reader.ts";

type Call = {
  reader: ResponseReader;
  resolve(response: WholeResponse): void;
  reject(error: ConnectionFailure | ResponseProblem): void;
};

/** A server that says how long it keeps a connection may close it a little earlier. */
const closesEarlyMs = 1_000;

/** One connection to a server, with one request on its way at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #onGone: () => void;
  #call: Call | undefined;
  #calls = 0;
  #keptMs = Number.POSITIVE_INFINITY;
  #isGone = false;
  /** Before that, nothing of a request can have arrived. */
  isConnected = false;

  /** `onGone` is called once, when it can serve no more requests. */
  constructor(socket: Socket, onGone: () => void) {
    this.#socket = socket;
    this.#onGone = onGone;
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.once("end", () => this.#end());
    socket.once("error", (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message));
    socket.once("close", () => this.#fail("ECONNRESET"));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** How long after a response it can be used again. */
  get keptMs(): number {
    return this.#keptMs;
  }

  /** Rejects with a ConnectionFailure, or with a ResponseProblem. */
  send(request: readonly Uint8Array[], bodyBytesMax: number): Promise<WholeResponse> {
    this.#calls++;
    return new Promise((resolve, reject) => {
      this.#call = { reader: new ResponseReader(bodyBytesMax), resolve, reject };
      // Corked, so that all of it leaves in one write.
      this.#socket.cork();
      for (const piece of request) this.#socket.write(piece);
      this.#socket.uncork();
    });
  }

  /** While it is idle, it does not keep the process alive. */
  rest(): void {
    this.#socket.unref();
  }

  wake(): void {
    this.#socket.ref();
  }

  /** What is on its way is lost, for this reason. */
  destroy(reason: string): void {
    this.#fail(reason);
  }

  #receive(bytes: Buffer): void {
    const call = this.#call;
    if (call === undefined) {
      // Nobody has asked for it, so it would be taken for the answer to the next request.
      this.#fail("ECONNRESET");
      return;
    }
    try {
      if (call.reader.push(bytes)) this.#answer(call);
    } catch (error) {
      this.#leave();
      call.reject(
        error instanceof ResponseProblem
          ? error
          : new ConnectionFailure(String(error), { wasStale: false, wasSent: true }),
      );
    }
  }

  #answer(call: Call): void {
    this.#call = undefined;
    const { reader } = call;
    const { response } = reader;
    const kept = /\btimeout=(\d{1,9})/.exec(response.headers["keep-alive"] ?? "")?.[1];
    this.#keptMs = kept === undefined ? Number.POSITIVE_INFINITY : Number(kept) * 1000 - closesEarlyMs;
    // A request that was answered before all of it was sent leaves the rest of it on the connection.
    if (!reader.keepsConnection || this.#socket.writableLength > 0 || this.#keptMs <= 0) this.#leave();
    call.resolve(response);
  }

  #end(): void {
    const call = this.#call;
    if (call?.reader.end()) this.#answer(call);
    this.#fail("ECONNRESET");
  }

  #fail(reason: string): void {
    const call = this.#call;
    this.#leave();
    const wasStale = this.#calls > 1 && call?.reader.hasStarted === false;
    call?.reject(new ConnectionFailure(reason, { wasStale, wasSent: this.isConnected }));
  }

  #leave(): void {
    this.#call = undefined;
    this.#socket.destroy();
    if (this.#isGone) return;
    this.#isGone = true;
    this.#onGone();
  }
}
