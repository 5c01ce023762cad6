import { WritError } from "../src/core/errors.ts";
import type { HttpClient, HttpStream } from "../src/runtime/http/http-client.ts";
import { type HubRequest, type SimHub, SimResponse } from "./hub.ts";
import type { Promises } from "./promises.ts";
import type { Life, World } from "./world.ts";

type HttpResponse = Awaited<ReturnType<HttpClient["request"]>>;

/** What happens to one call; the plan of a schedule names the calls that meet trouble. */
export type CallTrouble = "request lost" | "answer lost" | "sent twice" | "slow request" | "slow answer";

export type Trouble = {
  /** What the next call from there meets; null if it arrives as it should. */
  ofNextCall(from: string): CallTrouble | null;
  /** Whether this process is cut off from the hub. */
  isCutOff(from: string): boolean;
};

const wayMs = { from: 0, to: 4 };
const slowMs = { from: 200, to: 6_000 };
/** A machine that is there and has no program at the port says so at once. */
const refusedMs = 1;
/** How long a caller waits for a stream that it has heard nothing of. */
const streamIdleMs = 20_000;

type Call = HubRequest & { from: Life; what: string; signal: AbortSignal | undefined; timeoutMs: number };

/** Carries calls from processes to the hub. They arrive late, twice, in another order, or not at all. */
export class Network {
  readonly #world: World;
  readonly #trouble: Trouble;
  readonly #promises: Promises;
  /** The hub that answers at present, if one does. */
  hub: SimHub | null = null;
  /** What has to hear of it when the hub dies. */
  readonly #connections = new Set<{ hub: SimHub; onReset(): void }>();

  constructor(world: World, trouble: Trouble, promises: Promises) {
    this.#world = world;
    this.#trouble = trouble;
    this.#promises = promises;
  }

  /** The connections of a hub that was killed are reset by its machine. */
  reset(hub: SimHub): void {
    for (const connection of [...this.#connections]) {
      if (connection.hub !== hub) continue;
      this.#connections.delete(connection);
      this.#world.after(this.#wayMs(), null, () => connection.onReset());
    }
  }

  clientOf(from: Life, token: string): HttpClient {
    const headers = { Authorization: `Bearer ${token}` };
    return {
      request: ({ method, path, body, headers: more, signal, timeoutMs }) => {
        // Figures of the real machine belong into no schedule.
        if (path.endsWith("/metrics")) return new Promise(() => {});
        const bytes = typeof body === "string" ? Buffer.from(body) : body;
        const what = `${method} ${path}`;
        const sent = { method, path, body: bytes, headers: { ...headers, ...more } };
        return this.#request({ ...sent, from, what, signal, timeoutMs });
      },
      openStream: ({ path, headers: more, signal }) => {
        const sent = { method: "GET", path, body: undefined, headers: { ...headers, ...more } };
        return this.#openStream({ ...sent, from, what: `GET ${path}`, signal, timeoutMs: streamIdleMs });
      },
      currentHub: "http://hub",
      moves: 0,
      close: () => {},
    };
  }

  #request(call: Call): Promise<HttpResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const outgoing = new SimResponse(() => {});
    const end = this.#giveUpInTime(call, (error) => {
      reject(error);
      this.#world.after(this.#wayMs(), null, () => outgoing.destroy());
    });
    const trouble = this.#trouble.ofNextCall(call.from.name);
    if (trouble !== null) this.#world.tell(`${call.from.name}: ${call.what} meets trouble: ${trouble}`);
    const isLost = (): boolean => this.#trouble.isCutOff(call.from.name);
    const answer = (response: HttpResponse): void => {
      if (trouble === "answer lost") return;
      this.#world.after(trouble === "slow answer" ? this.#slowMs() : this.#wayMs(), call.from, () => {
        if (isLost()) return;
        end();
        resolve(response);
      });
    };
    const fail = (): void => {
      end();
      reject(unreachable());
    };
    if (trouble !== "request lost")
      this.#deliver(call, { outgoing, isLost, answer, fail, isSlow: trouble === "slow request" });
    if (trouble === "sent twice") {
      const second = {
        outgoing: new SimResponse(() => {}),
        isLost,
        answer: () => {},
        fail: () => {},
        isSlow: true,
      };
      this.#deliver(call, second);
    }
    return promise;
  }

  #deliver(
    call: Call,
    way: {
      outgoing: SimResponse;
      isLost(): boolean;
      answer(response: HttpResponse): void;
      fail(): void;
      isSlow: boolean;
    },
  ): void {
    this.#world.after(way.isSlow ? this.#slowMs() : this.#wayMs(), null, () => {
      if (way.isLost()) return;
      const { hub } = this;
      if (hub === null) {
        this.#world.after(refusedMs, call.from, way.fail);
        return;
      }
      const connection = { hub, onReset: () => !call.from.isOver && way.fail() };
      this.#connections.add(connection);
      void hub.serve(call, way.outgoing).then((reply) => {
        if (hub.life.isOver) return;
        this.#connections.delete(connection);
        const text = typeof reply.body === "string" ? reply.body : "";
        this.#promises.note(hub, reply.route, { status: reply.status, text, request: call });
        way.answer({ status: reply.status, header: headersOf(reply.headers), text: () => text });
      });
    });
  }

  #openStream(call: Call): Promise<HttpStream> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpStream>();
    const chunks = new Chunks();
    const send = (chunk: string | Uint8Array): void => {
      this.#world.after(this.#wayMs(), call.from, () => {
        if (!this.#trouble.isCutOff(call.from.name)) chunks.push(Buffer.from(chunk));
      });
    };
    const outgoing = new SimResponse(send);
    const end = this.#giveUpInTime(call, reject);
    const breakOff = (error: Error): void => {
      end();
      reject(error);
      chunks.fail(error);
    };
    call.signal?.addEventListener("abort", () => {
      chunks.fail(call.signal!.reason as Error);
      this.#world.after(this.#wayMs(), null, () => outgoing.destroy());
    });
    this.#world.after(this.#wayMs(), null, () => {
      const { hub } = this;
      if (hub === null || this.#trouble.isCutOff(call.from.name))
        return void this.#world.after(refusedMs, call.from, () => breakOff(unreachable()));
      this.#connections.add({ hub, onReset: () => !call.from.isOver && breakOff(unreachable()) });
      outgoing.once("close", () =>
        this.#world.after(this.#wayMs(), call.from, () => chunks.fail(unreachable())),
      );
      void hub.serve(call, outgoing).then((reply) => {
        if (hub.life.isOver) return;
        end();
        if (reply.status >= 300) {
          chunks.push(Buffer.from(typeof reply.body === "string" ? reply.body : ""));
          chunks.end();
        }
        resolve({ status: reply.status, header: headersOf(reply.headers), body: chunks });
      });
    });
    return promise;
  }

  /** Rejects when nothing was heard for too long, or when the caller gives up. Returns what ends the watch. */
  #giveUpInTime(call: Call, giveUp: (error: Error) => void): () => void {
    const late = this.#world.after(call.timeoutMs, call.from, () => giveUp(unreachable()));
    const onAbort = (): void => {
      late.cancel();
      giveUp(call.signal!.reason as Error);
    };
    if (call.signal?.aborted) onAbort();
    call.signal?.addEventListener("abort", onAbort, { once: true });
    return () => {
      late.cancel();
      call.signal?.removeEventListener("abort", onAbort);
    };
  }

  #wayMs(): number {
    return this.#world.random.between(wayMs.from, wayMs.to);
  }

  #slowMs(): number {
    return this.#world.random.between(slowMs.from, slowMs.to);
  }
}

function unreachable(): WritError {
  return new WritError("HUB_UNREACHABLE", "the hub cannot be reached");
}

function headersOf(headers: Readonly<Record<string, string>>): HttpResponse["header"] {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => lower.get(name);
}

/** The body of a stream, as it arrives. */
class Chunks implements AsyncIterable<Buffer> {
  readonly #arrived: Buffer[] = [];
  #wake: (() => void) | null = null;
  #isEnded = false;
  #error: Error | null = null;

  push(chunk: Buffer): void {
    this.#arrived.push(chunk);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = this.#arrived.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#error !== null) throw this.#error;
      else if (this.#isEnded) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
