import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** The exit code of a worker that trusts none of the hub's keys any more; its parent gives it the new ones. */
export const keysLostCode = 75;

type ParentCommands = { onDrain(): void; onStopNow(): void };

/**
 * Listens to the `writ up` that started this worker. It sends `drain` and `now` through a pipe instead of signals,
 * because a terminal sends Ctrl-C to both processes and the signal would count twice. The end of the pipe means that
 * the parent has died, and the worker drains then too.
 */
export function listenToParent(input: Readable, { onDrain, onStopNow }: ParentCommands): void {
  const lines = createInterface({ input });
  lines.on("line", (word) => (word === "now" ? onStopNow() : onDrain()));
  lines.on("close", onDrain);
}
