import type { IncomingMessage } from "node:http";
import { WritError } from "../../core/errors.ts";
import type { Clock, Timer } from "../clock/clock.ts";
import type { HubPulse } from "../hubs/hub-pulse.ts";
import { ConnectionFailure, frozen } from "./http-exchange.ts";

type CollectOptions = {
  clock: Clock;
  signal: AbortSignal | undefined;
  timeoutMs: number;
  bytesMax: number;
  pulse?: HubPulse | undefined;
};

/** Reads a whole body into memory, at most `bytesMax` of it. */
export function collectBody(message: IncomingMessage, options: CollectOptions): Promise<Buffer> {
  const { clock, signal, timeoutMs, bytesMax, pulse } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      timer.cancel();
      release?.();
      signal?.removeEventListener("abort", onAbort);
      act();
    };
    const fail = (error: unknown): void => {
      settle(() => reject(error));
      message.destroy();
    };
    const onAbort = (): void => fail(signal?.reason);
    const timer = clock.setTimer(() => fail(brokenOff(`no response in time`)), timeoutMs);
    const release = pulse?.watch(() => fail(brokenOff(frozen)));

    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) return onAbort();
    message.on("data", (chunk: Buffer) => {
      size += chunk.length;
      pulse?.seen();
      if (size > bytesMax)
        return fail(new WritError("HTTP_ERROR", `the hub's response is larger than ${bytesMax} bytes`));
      chunks.push(chunk);
    });
    message.on("error", (error: NodeJS.ErrnoException) => fail(brokenOff(error.code ?? error.message)));
    message.on("end", () => settle(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))));
  });
}

type StreamOptions = {
  clock: Clock;
  signal: AbortSignal;
  idleTimeoutMs: number | undefined;
  address: string;
  pulse?: HubPulse | undefined;
  /** Called when it breaks off, but not when the reader ends it. */
  onBroken?: (() => void) | undefined;
};

/** The body as it arrives. A caller that stops reading, or never begins, ends the connection with the signal. */
export function streamBody(message: IncomingMessage, options: StreamOptions): AsyncIterable<Buffer> {
  const { signal, pulse } = options;
  // Until somebody reads, a lost connection would be an error event without a listener.
  message.on("error", () => {});
  const onAbort = (): void => void message.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  const release = pulse?.watch(() => message.destroy(brokenOff(frozen)));
  message.once("close", () => {
    signal.removeEventListener("abort", onAbort);
    release?.();
  });
  if (signal.aborted) onAbort();
  return readChunks(message, options);
}

async function* readChunks(message: IncomingMessage, options: StreamOptions): AsyncGenerator<Buffer> {
  const { clock, signal, idleTimeoutMs, address, pulse, onBroken } = options;
  let silence: Timer | undefined;
  let isSilent = false;
  const restart = (): void => {
    silence?.cancel();
    if (idleTimeoutMs === undefined) return;
    silence = clock.setTimer(() => {
      isSilent = true;
      message.destroy();
    }, idleTimeoutMs);
  };
  try {
    restart();
    for await (const chunk of message as AsyncIterable<Buffer>) {
      // Time that the reader takes does not count as silence of the hub.
      silence?.cancel();
      pulse?.seen();
      yield chunk;
      restart();
    }
  } catch (error) {
    signal.throwIfAborted();
    onBroken?.();
    const reason = isSilent ? `silent for ${idleTimeoutMs} ms` : reasonOf(error);
    throw new WritError("HUB_UNREACHABLE", `the stream from ${address} ended: ${reason}`, {
      urls: [address],
    });
  } finally {
    silence?.cancel();
    message.destroy();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ConnectionFailure) return error.message;
  return (error as NodeJS.ErrnoException).code ?? "broken off";
}

function brokenOff(reason: string): ConnectionFailure {
  return new ConnectionFailure(reason, { wasStale: false, wasSent: true });
}
