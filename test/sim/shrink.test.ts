import { expect, test } from "vitest";
import { shrink } from "../../sim/shrink.ts";

const numbers = Array.from({ length: 40 }, (_, index) => index);

test("only what is needed is left", async () => {
  const fails = async (list: readonly number[]) => list.includes(3) && list.includes(17) && list.includes(38);
  expect(await shrink(numbers, fails, 1_000)).toEqual([3, 17, 38]);
});

test("what fails without any of it becomes empty", async () => {
  expect(await shrink(numbers, async () => true, 1_000)).toEqual([]);
});

test("it ends after the tries that it is given, with something that fails", async () => {
  const fails = async (list: readonly number[]) => list.filter((number) => number % 2 === 0).length >= 15;
  const left = await shrink(numbers, fails, 5);
  expect(await fails(left)).toBe(true);
});
