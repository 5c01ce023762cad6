import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export type ParentWords = { onDrain(): void; onStopNow(): void };

/**
 * Listens to the `writ up` that started this worker. It says `drain` and `now` over the pipe instead of sending
 * signals, because a terminal gives Ctrl-C to both processes and a signal would then count twice. The end of the
 * pipe means that the parent is dead, in whatever way: then the worker drains too.
 */
export function listenToParent(input: Readable, { onDrain, onStopNow }: ParentWords): void {
  const lines = createInterface({ input });
  lines.on("line", (word) => (word === "now" ? onStopNow() : onDrain()));
  lines.on("close", onDrain);
}
