/**
 * Leaves out of a list whatever is not needed for it to fail, in ever smaller pieces. What is left fails, and with any one
 * of its items left out it no longer does, unless `triesMax` was too few to see that.
 */
export async function shrink<T>(
  list: readonly T[],
  fails: (list: readonly T[]) => Promise<boolean>,
  triesMax: number,
): Promise<readonly T[]> {
  let left = list;
  let tries = 0;
  let size = Math.ceil(left.length / 2);
  while (size >= 1) {
    let isShorter = false;
    for (let at = 0; at < left.length && tries < triesMax; ) {
      const without = [...left.slice(0, at), ...left.slice(at + size)];
      tries++;
      if (await fails(without)) {
        left = without;
        isShorter = true;
      } else at += size;
    }
    if (tries >= triesMax || (size === 1 && !isShorter)) return left;
    if (size > 1) size = Math.ceil(size / 2);
  }
  return left;
}
