import type { ServerResponse } from "node:http";
import type { Clock } from "../../../runtime/clock/clock.ts";

/** A reader that accepts nothing for this long is gone. */
export const stuckMs = 120_000;

/** Resolves when there is room for more, or nobody who would read it: a reader that stops does not keep the answer open. */
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
    // It will not be closed again.
    if (outgoing.destroyed) done();
  });
}

/** Ends an answer of which a part may still wait for its reader, under the same condition. */
export function endAnswer(outgoing: ServerResponse, clock: Pick<Clock, "setTimer">): void {
  const stuck = clock.setTimer(() => outgoing.destroy(), stuckMs);
  outgoing.once("finish", stuck.cancel).once("close", stuck.cancel);
  outgoing.end();
}
