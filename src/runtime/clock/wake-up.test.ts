import { describe, expect, test } from "vitest";
import { handClock } from "./hand-clock.testing.ts";
import { WakeUp } from "./wake-up.ts";

describe("a wake-up", () => {
  test("has one waiter", async () => {
    const wakeUp = new WakeUp();
    const first = wakeUp.wait({});
    await expect(wakeUp.wait({})).rejects.toThrow("one waiter");
    wakeUp.wake();
    expect(await first).toBe(true);
  });

  test("that comes before the wait ends it at once, and is used up by it", async () => {
    const clock = handClock();
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.wake();
    expect(await wakeUp.wait({})).toBe(true);
    const second = wakeUp.wait({ timeout: { clock, ms: 10 } });
    await clock.pass(10);
    expect(await second).toBe(false);
  });

  test("that comes during the wait ends it, long before its time", async () => {
    const clock = handClock();
    const wakeUp = new WakeUp();
    const waiting = wakeUp.wait({ timeout: { clock, ms: 1_000 } });
    await clock.pass(999);
    wakeUp.wake();
    expect(await waiting).toBe(true);
    expect(clock.nowMs()).toBe(999);
  });

  test("is forgotten when it is cleared", async () => {
    const clock = handClock();
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.clear();
    const waiting = wakeUp.wait({ timeout: { clock, ms: 10 } });
    await clock.pass(10);
    expect(await waiting).toBe(false);
  });

  test("is not waited for once the signal is aborted, before the wait or during it", async () => {
    const stopping = new AbortController();
    const wakeUp = new WakeUp();
    const waiting = wakeUp.wait({ signal: stopping.signal });
    stopping.abort();
    expect(await waiting).toBe(false);
    expect(await wakeUp.wait({ signal: stopping.signal })).toBe(false);
  });

  test("is never lost by a loop that looks and waits in turn", async () => {
    const wakeUp = new WakeUp();
    const sent = 1_000;
    let there = 0;
    const send = async (): Promise<void> => {
      for (; there < sent; there++, wakeUp.wake()) await (there % 3 === 0 ? nextTurn() : undefined);
    };
    const receive = async (): Promise<void> => {
      for (let seen = there; seen < sent; seen = there) {
        // A look takes time, and more may come while it lasts.
        if (seen % 2 === 0) await nextTurn();
        await wakeUp.wait({});
      }
    };
    await Promise.all([receive(), send()]);
    expect(there).toBe(sent);
  });
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
