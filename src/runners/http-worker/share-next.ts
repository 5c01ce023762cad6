/** One run at a time. Calls during a run share the next run, which begins after all of them. Why: ADR 0044. */
export function shareNext<T>(act: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    const run = act();
    // The callers of this run get its error; the next one runs all the same.
    current = run.catch(() => {});
    return run;
  };
  return () => {
    next ??= current.then(start);
    return next;
  };
}
