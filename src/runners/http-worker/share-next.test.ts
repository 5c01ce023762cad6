import { expect, test } from "vitest";
import { shareNext } from "./share-next.ts";

/** Runs that end when the test says so. */
function runs() {
  const open: PromiseWithResolvers<number>[] = [];
  const share = shareNext(() => {
    const run = Promise.withResolvers<number>();
    open.push(run);
    return run.promise;
  });
  return { open, share };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

test("simultaneous calls share one run, and calls during it share the next", async () => {
  const { open, share } = runs();
  const first = [share(), share()];
  await tick();
  const second = [share(), share()];
  await tick();
  expect(open).toHaveLength(1);
  open[0]!.resolve(1);
  expect(await Promise.all(first)).toEqual([1, 1]);
  await tick();
  expect(open).toHaveLength(2);
  open[1]!.resolve(2);
  expect(await Promise.all(second)).toEqual([2, 2]);
});

test("a failed run rejects the calls that share it, and the next one still runs", async () => {
  const { open, share } = runs();
  const failing = share();
  await tick();
  const next = share();
  open[0]!.reject(new Error("no"));
  await expect(failing).rejects.toThrow("no");
  await tick();
  open[1]!.resolve(2);
  expect(await next).toBe(2);
});
