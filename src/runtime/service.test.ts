import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "./clock/clock.ts";
import { repeat, type Service, startAll, stopAll, together } from "./service.ts";

describe("startAll and stopAll", () => {
  test("a failing start stops what was started, in reverse, and gives its own reason", async () => {
    const story: string[] = [];
    const services = [
      tell(story, "a"),
      tell(story, "b", { stopFails: true }),
      tell(story, "c", { startFails: true }),
      tell(story, "d"),
    ];
    await expect(startAll(services)).rejects.toThrow("c cannot start");
    expect(story).toEqual(["start a", "start b", "start c", "stop b", "stop a"]);
  });

  test("a failing stop does not keep the others running", async () => {
    const story: string[] = [];
    const services = [tell(story, "a"), tell(story, "b", { stopFails: true }), tell(story, "c")];
    await startAll(services);
    await expect(stopAll(services)).rejects.toThrow("b cannot stop");
    expect(story.slice(3)).toEqual(["stop c", "stop b", "stop a"]);
  });

  test("services that stop together do not wait for one another, and a failure is reported", async () => {
    const story: string[] = [];
    const gate = Promise.withResolvers<void>();
    const slow = tell(story, "b");
    const pair = together("pair", [
      tell(story, "a", { stopFails: true }),
      {
        ...slow,
        stop: async () => {
          await slow.stop();
          await gate.promise;
          story.push("b is over");
        },
      },
    ]);
    await startAll([pair]);
    const stopped = expect(pair.stop()).rejects.toThrow("a cannot stop");
    gate.resolve();
    await stopped;
    expect(story).toEqual(["start a", "start b", "stop a", "stop b", "b is over"]);
  });
});

describe("repeat", () => {
  test("survives errors, including one in the report of an error, and continues", async () => {
    const errors: unknown[] = [];
    const third = Promise.withResolvers<void>();
    let runs = 0;
    const onError = (error: unknown): void => {
      errors.push(error);
      throw new Error("the report fails too");
    };
    const service = repeat({ name: "r", intervalMs: 1, clock: systemClock, onError }, () => {
      if (++runs === 3) third.resolve();
      throw new Error(`run ${runs}`);
    });
    await service.start();
    await third.promise;
    await service.stop();
    expect(errors.slice(0, 3).map(String)).toEqual(["Error: run 1", "Error: run 2", "Error: run 3"]);
  });

  test("never overlaps itself, and many wakes during a run make one more run", async () => {
    const gate = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let runs = 0;
    let inside = 0;
    const service = repeat(
      { name: "r", intervalMs: 3_600_000, clock: systemClock, onError: failTest },
      async () => {
        expect(++inside).toBe(1);
        if (++runs === 1) await gate.promise;
        if (runs === 2) second.resolve();
        inside--;
      },
    );
    await service.start();
    await expect(service.start()).rejects.toThrow("already running");
    for (let n = 0; n < 10; n++) service.wake();
    gate.resolve();
    await second.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toBe(2);
    await service.stop();
  });

  test("a wake ends the pause, and stop waits for the run and can be followed by a start", async () => {
    const seen: string[] = [];
    let onRun = (): void => {};
    const service = repeat(
      { name: "r", intervalMs: 3_600_000, clock: systemClock, onError: failTest },
      async (signal) => {
        seen.push("begin");
        onRun();
        if (seen.length > 2) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        seen.push("end");
      },
    );
    await service.start();
    await new Promise((resolve) => setImmediate(resolve));
    const woken = new Promise<void>((resolve) => {
      onRun = resolve;
    });
    service.wake();
    await woken;
    await service.stop();
    expect(seen).toEqual(["begin", "end", "begin", "end"]);
    await service.start();
    await service.stop();
    expect(seen).toHaveLength(6);
  });

  test("a signal from outside ends it, and being aborted is not an error", async () => {
    const outside = new AbortController();
    const service = repeat(
      { name: "r", intervalMs: 1, clock: systemClock, signal: outside.signal, onError: failTest },
      (signal) => systemClock.sleep(3_600_000, signal),
    );
    await service.start();
    outside.abort();
    await service.stop();
  });
});

function tell(
  story: string[],
  name: string,
  fails: { startFails?: boolean; stopFails?: boolean } = {},
): Service {
  return {
    name,
    async start() {
      story.push(`start ${name}`);
      if (fails.startFails) throw new Error(`${name} cannot start`);
    },
    async stop() {
      story.push(`stop ${name}`);
      if (fails.stopFails) throw new Error(`${name} cannot stop`);
    },
  };
}

const reported: unknown[] = [];
afterEach(() => expect(reported.splice(0)).toEqual([]));

/** Kept and looked at after the test, because the loop survives whatever its report throws. */
function failTest(error: unknown): void {
  reported.push(error);
}
