/**
 * Lets every promise run as far as it can without the world's time passing. Promises and ticks are done before the next
 * turn of the loop begins; turns that our own code asks for are counted here, and real files are waited for.
 */
const realImmediate = globalThis.setImmediate;
let waiting = 0;

export async function settle(): Promise<void> {
  do await new Promise<void>((resolve) => realImmediate(resolve));
  while (waiting > 0 || isReadingOrWriting());
}

/** Whether an operation on a file is under way, such as the keys that a worker writes down. */
function isReadingOrWriting(): boolean {
  return process.getActiveResourcesInfo().some((name) => /req/i.test(name));
}

/**
 * Replaces what would bring the machine's own time into a schedule: how long a group of database acts took, and how
 * long a file was known to be the same. `nowMs` is the world's time. Returns a function that puts everything back.
 */
export function replaceMachineTime(nowMs: () => number): () => void {
  const { setImmediate, performance } = globalThis;
  const now = performance.now;
  performance.now = nowMs;
  globalThis.setImmediate = ((fn: (...args: unknown[]) => void, ...args: unknown[]) => {
    waiting++;
    return realImmediate(() => {
      waiting--;
      fn(...args);
    });
  }) as typeof setImmediate;
  return () => {
    performance.now = now;
    globalThis.setImmediate = setImmediate;
  };
}
