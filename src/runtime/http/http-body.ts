import type { Readable } from "node:stream";
import { WritError } from "../../core/errors.ts";
import type { Clock, Timer } from "../clock/clock.ts";
import type { HubPulse } from "../hubs/hub-pulse.ts";
import { brokenOff, ConnectionFailure, frozen } from "./connection-failure.ts";

type BodyOptions = {
  clock: Clock;
  /** The one of the request: it ends the body. */
  signal: AbortSignal;
  pulse?: HubPulse | undefined;
};

/** Reads a whole body into memory, at most `bytesMax` of it. */
export async function collectBody(
  body: Readable,
  { timeoutMs, bytesMax, ...options }: BodyOptions & { timeoutMs: number; bytesMax: number },
): Promise<Buffer> {
  endWithPulse(body, options);
  const timer = options.clock.setTimer(() => body.destroy(brokenOff("no response in time")), timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      options.pulse?.seen();
      size += chunk.length;
      if (size > bytesMax)
        throw new WritError("HTTP_ERROR", `the hub's response is larger than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  } finally {
    timer.cancel();
  }
}

type StreamOptions = BodyOptions & {
  idleTimeoutMs: number | undefined;
  address: string;
  /** Called when it breaks off, but not when the reader ends it. */
  onBroken?: (() => void) | undefined;
};

/** The body as it arrives. A caller that stops reading, or never begins, ends the connection with the signal. */
export function streamBody(body: Readable, options: StreamOptions): AsyncIterable<Buffer> {
  endWithPulse(body, options);
  return readChunks(body, options);
}

/** Ends the body when its hub is found to be frozen. */
function endWithPulse(body: Readable, { pulse }: BodyOptions): void {
  const release = pulse?.watch(() => body.destroy(brokenOff(frozen)));
  body.once("close", () => release?.());
}

async function* readChunks(body: Readable, options: StreamOptions): AsyncGenerator<Buffer> {
  const { clock, signal, idleTimeoutMs, address, pulse, onBroken } = options;
  let silence: Timer | undefined;
  let isSilent = false;
  const restart = (): void => {
    silence?.cancel();
    if (idleTimeoutMs === undefined) return;
    silence = clock.setTimer(() => {
      isSilent = true;
      body.destroy();
    }, idleTimeoutMs);
  };
  try {
    restart();
    for await (const chunk of body as AsyncIterable<Buffer>) {
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
    body.destroy();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ConnectionFailure) return error.message;
  return (error as NodeJS.ErrnoException).code ?? "broken off";
}
