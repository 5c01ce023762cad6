import { expect, test } from "vitest";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import { testJob, testJobId } from "./fake-hub.testing.ts";
import type { HandlerContext } from "./index.ts";
import { endingOf, setStage, start } from "./worker-stage.testing.ts";

const stage = setStage();

/** A worker that has begun a job before its hub went away. */
async function loseHub({ env = {}, document = {} }: { env?: Record<string, string>; document?: object }) {
  const begun = Promise.withResolvers<HandlerContext>();
  const end = Promise.withResolvers<string>();
  const overdue = Promise.withResolvers<void>();
  const warn = (_facts: object | string, message?: string): void => {
    if (message?.includes("these jobs continue")) overdue.resolve();
  };
  const type = "test.wait";
  stage.hub.leaseMs = 600;
  stage.hub.queue = [testJob(1, { kind: "handler" }, { document: { type, ...document } })];
  const handler = (_job: unknown, context: HandlerContext) => {
    begun.resolve(context);
    return end.promise;
  };
  await start(stage, {
    handlers: { [type]: handler },
    env,
    logger: { ...silentLogger, warn } as unknown as Logger,
  });
  const { signal } = await begun.promise;
  const isRenewed = ({ path, body }: { path: string; body: unknown }) =>
    path === "/workers/heartbeat" && JSON.stringify(body).includes(testJobId(1));
  await stage.hub.until(() => stage.hub.calls.some(isRenewed));
  const { port } = stage.hub;
  await stage.hub.stop();
  return { signal, overdue: overdue.promise, end: end.resolve, port };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

test("B2: a job continues while the hub is away, and its result is delivered when the hub is back", async () => {
  const { signal, overdue, end, port } = await loseHub({});
  await overdue;
  expect(signal.aborted).toBe(false);
  end("done without a hub");
  await stage.hub.start(port);
  expect(await endingOf(stage, 1)).toMatchObject({ attempt: 1, result: "done without a hub" });
  expect(signal.aborted).toBe(false);
});

test("B2: a job that must not overlap with its next attempt is stopped before its lease ends", async () => {
  const { signal, end, port } = await loseHub({ document: { on_disconnect: "stop" } });
  await aborted(signal);
  end("too late");
  await stage.hub.start(port);
  await stage.hub.until(() => stage.hub.calls.at(-1)?.path === "/workers/heartbeat");
  expect(stage.hub.endings).toEqual([]);
});

test("B2: a job is stopped when the hub is away for longer than WRIT_HUB_AWAY_MS, and its outcome is discarded", async () => {
  const { signal, overdue, end, port } = await loseHub({ env: { WRIT_HUB_AWAY_MS: "1500" } });
  await overdue;
  expect(signal.aborted).toBe(false);
  await aborted(signal);
  end("too late");
  await stage.hub.start(port);
  await stage.hub.until(() => stage.hub.calls.at(-1)?.path === "/workers/heartbeat");
  expect(stage.hub.endings).toEqual([]);
});
