import type { IncomingMessage } from "node:http";
import { WritError } from "../../../core/errors.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";

const discardedBytesMax = 64 * 1024 ** 2;
/** A client that sends nothing for this long is waiting for the answer. */
const silentMs = 1_000;
const roundsMax = 10;

/**
 * Reads the rest of a refused body and drops it. Many clients read the answer only when they have sent everything, and if
 * the connection were closed before that, they would see a broken pipe instead of the refusal.
 */
export async function discardBody(incoming: IncomingMessage, clock: Clock, refusal: unknown): Promise<void> {
  if (incoming.complete || incoming.destroyed || !isWorthwhile(incoming, refusal)) return;
  const over = new AbortController();
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > discardedBytesMax) over.abort();
  };
  const onOver = (): void => over.abort();
  incoming.on("data", onData).once("end", onOver).once("close", onOver).once("error", onOver);
  for (let before = -1, round = 0; before < bytes && round < roundsMax && !over.signal.aborted; round++) {
    before = bytes;
    // The end of the body ends the pause; the loop's condition ends the rest.
    await clock.sleep(silentMs, over.signal).catch(() => {});
  }
  incoming.off("data", onData).off("end", onOver).off("close", onOver);
}

/** False for a body that cannot be read to its end, and for one that was refused because it arrived too slowly. */
function isWorthwhile(incoming: IncomingMessage, refusal: unknown): boolean {
  if (Number(incoming.headers["content-length"] ?? 0) > discardedBytesMax) return false;
  const isTooLarge = refusal instanceof WritError && refusal.code === "TOO_LARGE";
  return isTooLarge || incoming.readableFlowing === null;
}
