import { isDeepStrictEqual } from "node:util";
import type { CommitNotice } from "../../src/store/event-store.ts";
import { describeDifference, isSame, isSameOutcome, type Outcome, type Result, show } from "./verdict.ts";

/** Asked again, the store must be as if nothing had failed. */
export function checkAgain(found: Result, expected: Result): void {
  if (!isSameOutcome(found.outcome, expected.outcome))
    throw new Error(`asked again, it was told "${show(found.outcome)}" and not "${show(expected.outcome)}"`);
  if (!isSame(found.stored, expected.stored))
    throw new Error(
      `asked again, stored is ${describeDifference(found.stored, { "the right state": expected.stored })}`,
    );
}

/** The numbers in them may be older than the commit: the store looks again for those by itself. */
export function checkNotices(heard: CommitNotice[], expected: CommitNotice[]): void {
  const plain = (notices: CommitNotice[]) => notices.map(({ lastSeq: _, ...rest }) => rest);
  if (!isDeepStrictEqual(plain(heard), plain(expected)))
    throw new Error(`announced ${JSON.stringify(heard)} and not ${JSON.stringify(expected)}`);
}

export async function outcomeOf(act: Promise<unknown>): Promise<Outcome> {
  return act.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
}

/** The promise, or what `late` makes of it when the time is over. */
export async function within<T, Late>(ms: number, promise: Promise<T>, late: () => Late): Promise<T | Late> {
  const over = Promise.withResolvers<Late>();
  const timer = setTimeout(() => {
    try {
      over.resolve(late());
    } catch (error) {
      over.reject(error);
    }
  }, ms);
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
export function onlyOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
