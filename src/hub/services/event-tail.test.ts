import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { EventTail } from "./event-tail.ts";

test("a tail without readers reads nothing, however much is committed", async () => {
  const reads: PromiseWithResolvers<LoggedEvent[]>[] = [];
  const readEvents = () => {
    const read = Promise.withResolvers<LoggedEvent[]>();
    reads.push(read);
    return read.promise;
  };
  const tail = new EventTail({ readEvents }, handClock());
  const reader = tail.enter({}, 0);
  tail.announce(1);
  expect(reads).toHaveLength(1);
  tail.leave(reader);
  tail.announce(2);
  reads[0]!.resolve([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(reads).toHaveLength(1);

  const next = tail.enter({}, 2);
  tail.announce(3);
  expect(reads).toHaveLength(2);
  reads[1]!.resolve([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(tail.next(next)).toEqual([]);
});
