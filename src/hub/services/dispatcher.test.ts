import { expect, test } from "vitest";
import type { WorkerFacts } from "../../core/jobs/queue-key.ts";
import { Dispatcher } from "./dispatcher.ts";
import { ParkedClaim } from "./parked-claim.ts";

test("start and stop wake every claim that waits", async () => {
  const dispatcher = new Dispatcher({ onCommit: () => () => {} });
  const parked = new ParkedClaim({} as WorkerFacts, 1);
  dispatcher.park("w1", parked);
  parked.beginLook();
  await dispatcher.start();
  const { signal } = new AbortController();
  await parked.wait({ signal });
  parked.beginLook();
  const waiting = parked.wait({ signal });
  await dispatcher.stop();
  await waiting;
  expect(dispatcher.isStopped).toBe(true);
});
