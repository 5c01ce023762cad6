import type { Socket } from "node:net";
import type { Clock } from "../clock/clock.ts";
import { ConnectionFailure, frozen } from "../http/connection-failure.ts";
import type { WholeResponse } from "../http/open-request.ts";
import { ResponseProblem } from "../http/response-reader.ts";
import {
  frameHeadBytes,
  frameHeadMax,
  frameKinds,
  numberFrame,
  plainFrame,
  requestBodyMax,
  requestFrame,
  type WireLimits,
} from "./frame.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { FrameWriter } from "./frame-writer.ts";
import { readAnswer, readHeaders, readNumber } from "./read-payload.ts";
import { WireProblem } from "./wire-problem.ts";

type WireCall = {
  /** Method, path, and the headers that differ from those of the connection. */
  head: string;
  body: Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs: number;
  responseBytesMax: number;
  /** Calls back if the server is found to be frozen; returns what ends that. */
  watch?: ((onFrozen: () => void) => () => void) | undefined;
};

type WireOptions = {
  /** What the other side accepts. */
  limits: WireLimits;
  /** What arrived after the answer to the upgrade. */
  early: Buffer;
  clock: Pick<Clock, "setTimer">;
  /** Called once; `isPolite` if the hub has said that it stops. */
  onGone: (gone: { isPolite: boolean; reason: string }) => void;
};

type OpenCall = {
  /** Of its frame: the answer gives them back. */
  bytes: number;
  /** How many frames had arrived when it was sent. */
  sentAt: number;
  responseBytesMax: number;
  answered(response: WholeResponse): void;
  failed(error: unknown): void;
};

/** So many bytes of answers may be on their way that this side has not read yet. */
export const answerCredit = 8 * 1024 ** 2;
const answerFrameMax = 40 * 1024 ** 2;
const idMax = 2 ** 32 - 1;

/** The client's end of a connection with frames: many calls at once, answered in any order. Why: ADR 0126. */
export class WireConnection {
  readonly #socket: Socket;
  readonly #options: WireOptions;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #open = new Map<number, OpenCall>();
  #credit: number;
  #lastId = 0;
  #framesRead = 0;
  #answered = 0;
  /** Bytes of answers that were read and not given back. */
  #unreturned = 0;
  /** The last request that a stopping hub will answer. */
  #stopsAfter: number | undefined;
  #isGone = false;

  constructor(socket: Socket, options: WireOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#credit = options.limits.credit;
    this.#reader = new FrameReader(answerFrameMax, (frame) => this.#take(frame));
    this.#writer = new FrameWriter(socket);
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.once("end", () => this.#leave("ECONNRESET"));
    socket.once("error", (error: NodeJS.ErrnoException) => this.#leave(error.code ?? error.message));
    socket.once("close", () => this.#leave("ECONNRESET"));
    // After the constructor, because a frame in it may end the connection; and before what arrives later.
    if (options.early.length > 0) process.nextTick(() => this.#receive(options.early));
    socket.resume();
  }

  /** Whether a call fits now; one that does not goes over HTTP. */
  takes({ head, body }: Pick<WireCall, "head" | "body">): boolean {
    const bodyBytes = body?.byteLength ?? 0;
    if (this.#isGone || this.#stopsAfter !== undefined || this.#lastId === idMax) return false;
    if (bodyBytes > requestBodyMax || head.length > frameHeadMax) return false;
    const bytes = frameHeadBytes + 2 + head.length + bodyBytes;
    return this.#open.size < this.#options.limits.requests && this.#credit >= bytes;
  }

  /**
   * Resolves with every response, whatever its status. Rejects with a ConnectionFailure or the signal's reason. Only for
   * a call that it takes.
   */
  call(call: WireCall): Promise<WholeResponse> {
    return new Promise((resolve, reject) => {
      const { head, body, signal, timeoutMs, responseBytesMax, watch } = call;
      if (signal?.aborted) return reject(signal.reason);
      const id = ++this.#lastId;
      const over = (): void => {
        timer.cancel();
        release?.();
        signal?.removeEventListener("abort", onAbort);
      };
      const giveUp = (error: unknown): void => {
        this.#giveUp(id);
        over();
        reject(error);
      };
      const onLate = (): void => {
        const isSilent = this.#open.get(id)?.sentAt === this.#framesRead;
        giveUp(lost(`no response within ${timeoutMs} ms`));
        // Nothing has come for as long as the call has waited: what waits beside it would wait in vain, too.
        if (isSilent) this.#leave(frozen);
      };
      const onFrozen = (): void => {
        giveUp(lost(frozen));
        this.#leave(frozen);
      };
      const timer = this.#options.clock.setTimer(onLate, timeoutMs);
      const release = watch?.(onFrozen);
      const onAbort = (): void => giveUp(signal?.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      const frame = requestFrame(id, head, body);
      this.#credit -= frame.length;
      if (this.#open.size === 0) this.#socket.ref();
      this.#open.set(id, {
        bytes: frame.length,
        sentAt: this.#framesRead,
        responseBytesMax,
        answered: (response) => {
          over();
          resolve(response);
        },
        failed: (error) => {
          over();
          reject(error);
        },
      });
      this.#writer.write(frame);
    });
  }

  /** What is open is lost. */
  close(): void {
    this.#leave("closed");
  }

  /** The call stays open until it is answered, because its credit comes back with the answer. */
  #giveUp(id: number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    open.answered = open.failed = () => {};
    this.#writer.write(plainFrame(frameKinds.cancel, id));
  }

  #receive(bytes: Buffer): void {
    if (this.#isGone) return;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      if (!(error instanceof WireProblem)) throw error;
      this.#close(error);
    }
  }

  #take(frame: Frame): void {
    if (this.#isGone) return;
    this.#framesRead++;
    const { kind, payload } = frame;
    if (kind === frameKinds.answer) this.#takeAnswer(frame);
    else if (kind === frameKinds.ping) this.#writer.write(plainFrame(frameKinds.pong, 0, payload));
    else if (kind === frameKinds.stop) this.#stopAfter(readNumber(frame));
    else if (kind === frameKinds.close) this.#leave(`closed by the hub: ${payload.toString("utf8", 0, 200)}`);
    else if (kind !== frameKinds.pong)
      throw new WireProblem("bad-frame", `a hub does not send frames of the kind ${kind}`);
  }

  #takeAnswer(frame: Frame): void {
    const open = this.#open.get(frame.id);
    if (open === undefined) throw new WireProblem("unknown-request", `an answer to no request: ${frame.id}`);
    const { status, head, body } = readAnswer(frame);
    const headers = head === "" ? jsonOnly : { ...jsonOnly, ...readHeaders(head.split("\n")) };
    this.#open.delete(frame.id);
    this.#answered++;
    this.#credit += open.bytes;
    this.#giveBack(frame.bytes);
    if (this.#open.size === 0) this.#rest();
    if (body.length > open.responseBytesMax)
      open.failed(new ResponseProblem(`it is larger than ${open.responseBytesMax} bytes`, true));
    else open.answered({ status, headers, body });
  }

  #giveBack(bytes: number): void {
    this.#unreturned += bytes;
    if (this.#unreturned < answerCredit / 2) return;
    this.#writer.write(numberFrame(frameKinds.credit, 0, this.#unreturned));
    this.#unreturned = 0;
  }

  /** While it is idle, it does not keep the process alive. After a stop it has nothing more to do. */
  #rest(): void {
    if (this.#stopsAfter === undefined) this.#socket.unref();
    else this.#leave("the hub is stopping");
  }

  /** The hub has not looked at what came after this request. */
  #stopAfter(id: number): void {
    this.#stopsAfter = id;
    const failure = new ConnectionFailure("the hub is stopping", { wasStale: true, wasSent: false });
    for (const [later, open] of this.#open) {
      if (later <= id) continue;
      this.#open.delete(later);
      open.failed(failure);
    }
    if (this.#open.size === 0) this.#rest();
  }

  #close(problem: WireProblem): void {
    const why = Buffer.from(`${problem.reason}: ${problem.message}`);
    this.#writer.write(plainFrame(frameKinds.close, 0, why));
    this.#writer.flush();
    this.#leave(problem.message);
  }

  #leave(reason: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#socket.destroy();
    // A frozen hub is not asked a second time.
    const wasStale = this.#answered > 0 && reason !== frozen;
    for (const open of this.#open.values())
      open.failed(new ConnectionFailure(reason, { wasStale, wasSent: true }));
    this.#open.clear();
    this.#options.onGone({ isPolite: this.#stopsAfter !== undefined, reason });
  }
}

const jsonOnly = { "content-type": "application/json" } as const;

function lost(reason: string): ConnectionFailure {
  return new ConnectionFailure(reason, { wasStale: false, wasSent: true });
}
