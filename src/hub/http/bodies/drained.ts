import type { ServerResponse } from "node:http";
import type { Clock } from "../../../runtime/clock/clock.ts";

/** A reader that accepts nothing for this long is gone. */
export const stuckMs = 120_000;

/** Resolves when there is room for more, or when the reader has gone or stopped: then the answer is destroyed. */
export function drained(outgoing: ServerResponse, clock: Pick<Clock, "setTimer">): Promise<void> {
  return new Promise((resolve) => {
    const stuck = clock.setTimer(() => outgoing.destroy(), stuckMs);
    const done = () => {
      stuck.cancel();
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.once("drain", done);
    outgoing.once("close", done);
    // No further `close` event follows.
    if (outgoing.destroyed) done();
  });
}

/** Ends an answer whose last part may still wait for its reader, with the same limit. */
export function endAnswer(outgoing: ServerResponse, clock: Pick<Clock, "setTimer">): void {
  const stuck = clock.setTimer(() => outgoing.destroy(), stuckMs);
  outgoing.once("finish", stuck.cancel).once("close", stuck.cancel);
  outgoing.end();
}
