/** Tells that nothing more will be written: a promise that is requested once, or a signal. */
export type EndSignal = AbortSignal | (() => Promise<void>);

/** `isOver` throws what the promise was rejected with. */
type End = { isOver(): boolean; close(): void };

/** Calls `wake` when the output has ended. */
export function watchEnd(ended: EndSignal, wake: () => void): End {
  if (ended instanceof AbortSignal) {
    ended.addEventListener("abort", wake);
    return { isOver: () => ended.aborted, close: () => ended.removeEventListener("abort", wake) };
  }
  return watchEndPromise(ended(), wake);
}

function watchEndPromise(ended: Promise<void>, wake: () => void): End {
  let outcome: { error?: unknown } | undefined;
  // The promise may outlive many followers, so its callback is released at the end.
  let notify: (() => void) | undefined = wake;
  ended.then(
    () => {
      outcome = {};
      notify?.();
    },
    (error: unknown) => {
      outcome = { error };
      notify?.();
    },
  );
  const isOver = (): boolean => {
    if (outcome !== undefined && "error" in outcome) throw outcome.error;
    return outcome !== undefined;
  };
  const close = (): void => {
    notify = undefined;
  };
  return { isOver, close };
}
