import type { Duplex } from "node:stream";
import type { Clock } from "../../../runtime/clock/clock.ts";
import {
  answerFrame,
  frameKinds,
  numberFrame,
  plainFrame,
  requestFrameMax,
  type WireLimits,
} from "../../../runtime/wire/frame.ts";
import { type Frame, FrameReader } from "../../../runtime/wire/frame-reader.ts";
import { FrameWriter } from "../../../runtime/wire/frame-writer.ts";
import { readNumber, readRequest } from "../../../runtime/wire/read-payload.ts";
import { WireProblem, type WireReason } from "../../../runtime/wire/wire-problem.ts";
import { type Exchange, newExchange } from "../exchange.ts";
import type { Reply } from "../reply.ts";
import { framedReply } from "./framed-reply.ts";
import type { FramedRequest, FramedRequests } from "./framed-request.ts";

/** What one client may have on its way to the hub. */
export const servedLimits: WireLimits = { credit: 4 * 1024 ** 2, requests: 256 };

const creditMax = 2 ** 30;
/** As for bodies over HTTP: every frame may take this long, and after that must have arrived at the lowest rate. */
const frameGraceMs = 10_000;
const bytesPerSecMin = 16 * 1024;
/** Proxies end connections that are silent for a minute. */
const pingMs = 15_000;
const silentMsMax = 45_000;
/** A reader that accepts nothing for this long is gone. */
const stuckMs = 120_000;
/** Between two looks. A client sends a cancel for a call, and credit for half of what it granted. */
const idleFramesMax = 1_000;
/** How long the last frame may take to leave. */
const leaveMs = 2_000;

type ServedWireDeps = {
  requests: FramedRequests;
  /** How many bytes of answers the client accepts before it gives some back. */
  credit: number;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  answer(exchange: Exchange): Promise<Reply>;
  /** An answer could not be made: an error that is not the caller's. */
  onError(error: unknown): void;
  /** Called once. */
  onGone(reason: WireReason | "ended"): void;
};

/** The hub's end of a connection with frames. Each request is served like one over HTTP. Why: ADR 0126. */
export class ServedWire {
  readonly #socket: Duplex;
  readonly #deps: ServedWireDeps;
  readonly #reader = new FrameReader(requestFrameMax, (frame) => this.#take(frame));
  readonly #writer: FrameWriter;
  readonly #open = new Map<number, FramedCall>();
  /** Requests that begin when the answers before them have been sent, and the client accepts more. */
  #held: FramedCall[] = [];
  /** Answers that wait for credit. */
  #waiting: { call: FramedCall; frame: Buffer }[] = [];
  #waitsSinceMs = 0;
  #credit: number;
  /** Bytes of requests that have not been answered. */
  #unanswered = 0;
  #lastId = 0;
  #idleFrames = 0;
  #readAtMs: number;
  #pingedAtMs: number;
  #frameSinceMs: number | null = null;
  #isStopping = false;
  #isOver = false;

  constructor(socket: Duplex, deps: ServedWireDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#credit = deps.credit;
    this.#writer = new FrameWriter(socket);
    this.#readAtMs = this.#pingedAtMs = deps.clock.monotonicMs();
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
    for (const event of ["end", "error", "close"]) {
      socket.once(event, () => {
        this.#leave("ended");
        socket.destroy();
      });
    }
  }

  receive(bytes: Buffer): void {
    // What follows a close is read and dropped, so that the client receives the reason.
    if (this.#isOver) return;
    this.#readAtMs = this.#deps.clock.monotonicMs();
    try {
      const before = this.#reader.unfinishedBytes;
      this.#reader.push(bytes);
      const after = this.#reader.unfinishedBytes;
      if (after === 0) this.#frameSinceMs = null;
      // One that is shorter than before is another one.
      else if (before === 0 || after <= before) this.#frameSinceMs = this.#readAtMs;
    } catch (error) {
      if (!(error instanceof WireProblem)) throw error;
      this.close(error.reason, error.message);
    }
  }

  /** Ends what is too slow or silent. Called every few seconds. */
  look(): void {
    if (this.#isOver) return;
    const nowMs = this.#deps.clock.monotonicMs();
    this.#idleFrames = 0;
    const allowedMs = frameGraceMs + (this.#reader.unfinishedBytes / bytesPerSecMin) * 1000;
    if (this.#frameSinceMs !== null && nowMs - this.#frameSinceMs > allowedMs)
      this.close("frame-too-slow", `a frame was not whole after ${Math.round(allowedMs / 1000)} s`);
    else if (this.#isHeldUp && nowMs - this.#waitsSinceMs > stuckMs)
      this.close("answers-not-read", `no answer was read for ${stuckMs / 1000} s`);
    else if (nowMs - this.#readAtMs > silentMsMax)
      this.close("silent", `nothing was heard for ${silentMsMax / 1000} s`);
    else if (nowMs - Math.max(this.#readAtMs, this.#pingedAtMs) >= pingMs) {
      this.#pingedAtMs = nowMs;
      this.#writer.write(plainFrame(frameKinds.ping));
    }
  }

  /** No request that arrives from now on is looked at; the connection ends with the last answer. */
  stop(): void {
    if (this.#isOver || this.#isStopping) return;
    this.#isStopping = true;
    this.#writer.write(numberFrame(frameKinds.stop, 0, this.#lastId));
    if (this.#open.size === 0) this.#end("stopping");
  }

  close(reason: WireReason, message: string): void {
    if (this.#isOver) return;
    this.#writer.write(plainFrame(frameKinds.close, 0, Buffer.from(`${reason}: ${message}`)));
    this.#end(reason);
  }

  #end(reason: WireReason): void {
    this.#writer.flush();
    this.#socket.end();
    this.#deps.clock.setTimer(() => this.#socket.destroy(), leaveMs);
    this.#leave(reason);
  }

  /** For a stop that may wait no longer. */
  destroy(): void {
    this.#socket.destroy();
  }

  #take(frame: Frame): void {
    if (this.#isOver) return;
    const { kind, id } = frame;
    if (kind === frameKinds.request) {
      this.#takeRequest(frame);
      return;
    }
    if (++this.#idleFrames > idleFramesMax)
      throw new WireProblem(
        "too-many-pings",
        `more than ${idleFramesMax} frames in 2 s that ask for nothing`,
      );
    if (kind === frameKinds.cancel) this.#open.get(id)?.hangUp();
    else if (kind === frameKinds.credit) this.#addCredit(readNumber(frame));
    else if (kind === frameKinds.ping) this.#writer.write(plainFrame(frameKinds.pong, 0, frame.payload));
    else if (kind === frameKinds.close) this.#end("stopping");
    else if (kind !== frameKinds.pong)
      throw new WireProblem("bad-frame", `a client does not send frames of the kind ${kind}`);
  }

  #takeRequest(frame: Frame): void {
    const { id, bytes } = frame;
    if (this.#isStopping) return;
    if (id <= this.#lastId)
      throw new WireProblem("unknown-request", `request ${id} after request ${this.#lastId}; numbers rise`);
    this.#lastId = id;
    if (this.#open.size === servedLimits.requests)
      throw new WireProblem("too-many-requests", `more than ${servedLimits.requests} requests are open`);
    this.#unanswered += bytes;
    if (this.#unanswered > servedLimits.credit)
      throw new WireProblem("credit-exceeded", `more than ${servedLimits.credit} bytes are not answered`);
    const { head, body } = readRequest(frame);
    const call = new FramedCall(id, bytes, { request: this.#deps.requests.read(head), body });
    this.#open.set(id, call);
    if (this.#credit > 0 && this.#waiting.length === 0) this.#serve(call);
    else {
      this.#noteWait();
      this.#held.push(call);
    }
  }

  #serve(call: FramedCall): void {
    this.#deps.answer(call.exchange()).then(
      (reply) => this.#reply(call, reply),
      (error) => {
        this.#deps.onError(error);
        this.#socket.destroy();
      },
    );
  }

  /** A caller that has gone gets an empty answer, which gives its credit back. */
  #reply(call: FramedCall, reply: Reply): void {
    if (this.#isOver) return;
    const frame = answerFrame(call.id, framedReply(call.destroyed ? { ...reply, body: null } : reply));
    if (this.#credit > 0 && this.#waiting.length === 0) {
      this.#send(call, frame);
      return;
    }
    this.#noteWait();
    this.#waiting.push({ call, frame });
  }

  get #isHeldUp(): boolean {
    return this.#waiting.length > 0 || this.#held.length > 0;
  }

  /** Before the first answer or request that waits for credit. */
  #noteWait(): void {
    if (!this.#isHeldUp) this.#waitsSinceMs = this.#deps.clock.monotonicMs();
  }

  #send(call: FramedCall, frame: Buffer): void {
    this.#credit -= frame.length;
    this.#unanswered -= call.bytes;
    this.#open.delete(call.id);
    this.#writer.write(frame);
    if (this.#isStopping && this.#open.size === 0) this.#end("stopping");
  }

  #addCredit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > creditMax) throw new WireProblem("bad-frame", "more credit than there ever was");
    if (!this.#isHeldUp || this.#credit <= 0) return;
    this.#waitsSinceMs = this.#deps.clock.monotonicMs();
    while (this.#credit > 0 && this.#waiting.length > 0) {
      const { call, frame } = this.#waiting.shift()!;
      this.#send(call, frame);
    }
    if (this.#credit <= 0 || this.#waiting.length > 0) return;
    const held = this.#held;
    this.#held = [];
    for (const call of held) this.#serve(call);
  }

  #leave(reason: WireReason | "ended"): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const call of this.#open.values()) call.hangUp();
    this.#open.clear();
    this.#held = [];
    this.#waiting = [];
    this.#deps.onGone(reason);
  }
}

/** One request on the connection. It tells its handler, as Node's response does, when the caller has gone. */
class FramedCall {
  readonly id: number;
  readonly bytes: number;
  readonly #request: FramedRequest;
  readonly #body: Buffer;
  #onClose: (() => void)[] | undefined;
  destroyed = false;

  constructor(id: number, bytes: number, { request, body }: { request: FramedRequest; body: Buffer }) {
    this.id = id;
    this.bytes = bytes;
    this.#request = request;
    this.#body = body;
  }

  exchange(): Exchange {
    const { incoming } = this.#request;
    return newExchange(this.#request, { incoming, outgoing: this, via: { body: this.#body } });
  }

  once(_event: "close", listener: () => void): void {
    this.#onClose ??= [];
    this.#onClose.push(listener);
  }

  hangUp(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    for (const listener of this.#onClose ?? []) listener();
  }
}
