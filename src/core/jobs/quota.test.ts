import { expect, it } from "vitest";
import { mayRunMore, mayWait } from "./quota.ts";

it("gives a tenant no job beyond its limit, and none at all when the limit is zero", () => {
  expect(mayRunMore(2, { max_running: 2 })).toBe(false);
  expect(mayRunMore(0, { max_running: 0 })).toBe(false);
  expect(mayRunMore(1, { max_running: 2 })).toBe(true);
});

it("has no limit that was not set", () => {
  expect(mayRunMore(1_000_000, { max_pending: 1 })).toBe(true);
});

it("lets jobs wait up to the limit, to the last one", () => {
  expect(mayWait({ pending: 1, added: 1 }, 2)).toBe(true);
  expect(mayWait({ pending: 1, added: 2 }, 2)).toBe(false);
});
