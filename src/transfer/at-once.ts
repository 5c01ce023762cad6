/** Calls a function for each item, a few at a time. Rejects with the first error, once all that had begun have ended. */
export async function atOnce<T>(
  items: readonly T[],
  countMax: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const rest = items.values();
  const line = async (): Promise<void> => {
    for (const item of rest) {
      if (errors.length > 0) return;
      await act(item).catch((error: unknown) => void errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(countMax, items.length) }, line));
  if (errors.length > 0) throw errors[0];
}
