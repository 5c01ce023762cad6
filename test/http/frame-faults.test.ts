import { expect, onTestFinished, test } from "vitest";
import { type HandClock, handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import {
  frameKinds,
  numberFrame,
  plainFrame,
  requestFrame,
  writeLimits,
} from "../../src/runtime/wire/frame.ts";
import { eventually } from "../support/eventually.ts";
import { FrameClient } from "../support/frame-client.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { type MemoryHub, startMemoryHub } from "../support/memory-hub.ts";

/** What a client may do wrong on a connection with frames. Each ends it for a reason that is named, and nothing else. */

const list = "GET /api/v1/jobs?limit=1";

test("a frame that is too long", async () => {
  await endsWith("frame-too-long", ({ client }) => {
    const head = Buffer.alloc(9);
    head.writeUInt32BE(2 ** 31, 0);
    client.send(head);
  });
});

test("a frame of an unknown kind, or of one that only hubs send", async () => {
  for (const kind of [9, frameKinds.answer, frameKinds.stop]) {
    await endsWith("bad-frame", ({ client }) => {
      const frame = plainFrame(frameKinds.ping, 1);
      frame[4] = kind;
      client.send(frame);
    });
  }
});

test("a request without a method, a path or headers that can be read", async () => {
  for (const head of [
    "",
    "jobs",
    "GET jobs",
    "GET /a b",
    "G /",
    `${list}\nname`,
    `${list}\na b: c`,
    `${list}\r\na: b`,
  ])
    await endsWith("bad-frame", ({ client }) => client.send(requestFrame(1, head, undefined)));
});

test("a request whose number is not higher than the last", async () => {
  await endsWith("unknown-request", async ({ client }) => {
    await client.request(list);
    client.send(requestFrame(1, list, undefined));
  });
  await endsWith("unknown-request", ({ client }) => client.send(requestFrame(0, list, undefined)));
});

test("more open requests than are allowed", async () => {
  await endsWith("too-many-requests", async ({ client, hub }) => {
    const worker = await registerWorker(hub);
    const claim = Buffer.from(JSON.stringify({ worker_id: worker, wait_ms: 30_000 }));
    const requests = Array.from({ length: 257 }, (_, index) =>
      requestFrame(index + 1, "POST /api/v1/jobs/claim", claim),
    );
    client.send(...requests);
  });
});

test("more bytes of requests than were granted", async () => {
  await endsWith("credit-exceeded", async ({ client }) => {
    const body = Buffer.alloc(1024 ** 2, " ");
    client.send(...[1, 2, 3, 4].map((id) => requestFrame(id, "POST /api/v1/jobs", body)));
  });
});

test("half a frame, and then silence", async () => {
  await endsWith("frame-too-slow", async ({ client, clock }) => {
    const frame = requestFrame(1, "POST /api/v1/jobs", Buffer.from('{"type":"x"}'));
    client.send(frame.subarray(0, 20));
    await eventually("it has arrived", () => client.socket.writableLength === 0);
    await clock.pass(8_000);
    expect(client.frames).toEqual([]);
    await clock.pass(6_000);
  });
});

test("a flood of pings", async () => {
  await endsWith("too-many-pings", ({ client }) =>
    client.send(...Array.from({ length: 1_001 }, () => plainFrame(frameKinds.ping))),
  );
});

test("cancels of requests that there never were", async () => {
  await endsWith("too-many-pings", ({ client }) =>
    client.send(...Array.from({ length: 1_001 }, (_, id) => plainFrame(frameKinds.cancel, id))),
  );
});

test("more credit than there ever was", async () => {
  await endsWith("bad-frame", ({ client }) => client.send(numberFrame(frameKinds.credit, 0, 2 ** 31)));
});

test("silence, although the hub asks whether somebody is there", async () => {
  await endsWith("silent", async ({ client, clock }) => {
    await clock.pass(16_000);
    await client.until(({ kind }) => kind === frameKinds.ping);
    await clock.pass(31_000);
  });
});

test("answers that are never read: no more are sent than were allowed, and no request is begun", async () => {
  const limits = { "writ-frames": writeLimits({ credit: 1_000, requests: 1 }) };
  await endsWith(
    "answers-not-read",
    async ({ client, clock, hub }) => {
      const job = Buffer.from(
        JSON.stringify({ type: freshName("unread"), params: { text: "x".repeat(3_000) } }),
      );
      await client.request("POST /api/v1/jobs", job);
      const { total } = await read(client);
      client.send(...[1, 2, 3].map(() => requestFrame(client.newId(), `${list}0`, undefined)));
      await eventually("what fits has come", async () => (await read(client)).total > total);
      // The credit was used up by the first, so the second waits, and whatever comes now is not looked at.
      const after = (await read(client)).total;
      client.send(requestFrame(client.newId(), "POST /api/v1/jobs", job));
      await clock.pass(10_000);
      client.send(plainFrame(frameKinds.pong));
      expect((await read(client)).total).toBe(after);
      const jobs = (await hub.must("GET", "/jobs", { token: hub.admin })).json<unknown[]>();
      expect(jobs).toHaveLength(1);
      for (let passed = 0; passed < 130_000; passed += 10_000) {
        client.send(plainFrame(frameKinds.pong));
        await clock.pass(10_000);
      }
    },
    limits,
  );
});

test("a client that goes on after it has been given more credit", async () => {
  const { hub } = await clockedHub();
  const headers = { "writ-frames": writeLimits({ credit: 1, requests: 1 }) };
  const client = await FrameClient.open(hub, hub.admin, { headers });
  const ids = [1, 2, 3].map(() => client.newId());
  client.send(...ids.map((id) => requestFrame(id, list, undefined)));
  await client.answer(1);
  client.send(numberFrame(frameKinds.credit, 0, 1_000_000));
  for (const id of ids) expect((await client.answer(id)).status).toBe(200);
  client.socket.destroy();
});

/** What has come so far. */
async function read(client: FrameClient): Promise<{ total: number }> {
  return { total: client.frames.filter(({ kind }) => kind === frameKinds.answer).length };
}

type Bad = { client: FrameClient; hub: MemoryHub; clock: HandClock };

/** The connection ends for this reason, and the hub serves the next one. */
async function endsWith(
  reason: string,
  act: (bad: Bad) => unknown,
  headers: Record<string, string> = {},
): Promise<void> {
  const { hub, clock } = await clockedHub();
  const client = await FrameClient.open(hub, hub.admin, { headers });
  await act({ client, hub, clock });
  expect(await client.closed).toMatch(new RegExp(`^${reason}: `));
  const next = await FrameClient.open(hub, hub.admin);
  expect((await next.request(list)).status).toBe(200);
  next.socket.destroy();
  const metrics = (await hub.must("GET", "//metrics", { token: hub.admin })).text;
  expect(metrics).toContain(`writ_frame_connections_closed_total{reason="${reason}"} 1`);
}

async function clockedHub(): Promise<{ hub: MemoryHub; clock: HandClock }> {
  const clock = handClock();
  const hub = await startMemoryHub(stillEnv, { clock });
  onTestFinished(() => hub.stop());
  return { hub, clock };
}
