/** Rejects with the signal's reason as soon as it is aborted; what is awaited continues for other callers. */
export function untilAborted<T>(awaited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return awaited;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    awaited.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
