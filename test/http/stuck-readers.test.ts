import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { stuckMs } from "../../src/hub/http/bodies/drained.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { startedForAll } from "../support/use-hub.ts";

/** The hub gives up on a reader at once, and says so. */
let onGivenUp = () => {};
const clock = {
  ...systemClock,
  setTimer(fn: () => void, ms: number) {
    if (ms !== stuckMs) return systemClock.setTimer(fn, ms);
    const giveUp = () => {
      fn();
      onGivenUp();
    };
    return systemClock.setTimer(giveUp, 100);
  },
};
const hub = startedForAll(() => startTestHub(stillEnv, { clock }));

/** More than the kernel holds for a reader that does not read: 6 MiB at his end, and 4 MiB at the hub's. */
const outputBytes = 24 * 1024 ** 2;
const pieceBytes = 1024 ** 2;

async function jobWithOutput(): Promise<string> {
  const { id, fence } = await runningJob(hub);
  for (let offset = 0; offset < outputBytes; offset += pieceBytes)
    await hub.must("POST", `/jobs/${id}/output/stdout?offset=${offset}`, {
      token: hub.admin,
      body: Buffer.alloc(pieceBytes),
      headers: {
        "Content-Type": "application/octet-stream",
        "X-Worker-Id": fence.worker_id,
        "X-Job-Attempt": String(fence.attempt),
        "X-Lease-Token": fence.token,
      },
    });
  return id;
}

test("O-42 the connection of somebody who asks for an output and stops reading is closed", async () => {
  const id = await jobWithOutput();
  const givenUp = Promise.withResolvers<void>();
  onGivenUp = givenUp.resolve;
  const reader = connect(hub.port, "127.0.0.1").pause();
  onTestFinished(() => void reader.destroy());
  reader.on("error", () => {});
  reader.write(
    `GET /api/v1/jobs/${id}/output/stdout HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${hub.admin}\r\n\r\n`,
  );
  await givenUp.promise;
  let received = 0;
  reader.on("data", (bytes: Buffer) => {
    received += bytes.length;
  });
  reader.resume();
  await once(reader, "close");
  expect(received).toBeLessThan(outputBytes);
});
