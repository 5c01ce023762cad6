import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

test("no more run at once than allowed, and they begin in the order in which they came", async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const ends = gates.map((gate, index) =>
    turns.take(async () => {
      begun.push(index);
      await gate.promise;
      return index;
    }),
  );
  expect(begun).toEqual([0, 1]);
  gates[1]!.resolve();
  expect(await ends[1]).toBe(1);
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  expect(await Promise.all(ends)).toEqual([0, 1, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test("an act that fails passes its turn on", async () => {
  const turns = new Turns(1);
  const failing = turns.take(() => Promise.reject(new Error("no")));
  const next = turns.take(async () => "yes");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("yes");
});
