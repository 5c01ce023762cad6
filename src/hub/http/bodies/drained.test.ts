import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../../../runtime/clock/hand-clock.testing.ts";
import { drained, endAnswer, stuckMs } from "./drained.ts";

/** An answer whose reader reads nothing after its request. */
async function unreadAnswer(): Promise<ServerResponse> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  const [, outgoing] = (await once(server, "request")) as [unknown, ServerResponse];
  // More than the kernel takes for a reader that does not read.
  expect(outgoing.write(Buffer.alloc(64 * 1024 ** 2))).toBe(false);
  return outgoing;
}

test("O-42 an answer ends when its reader accepts nothing for two minutes, and not before", async () => {
  const clock = handClock();
  const outgoing = await unreadAnswer();
  const room = drained(outgoing, clock);
  await clock.pass(stuckMs - 1);
  expect(outgoing.destroyed).toBe(false);
  await clock.pass(1);
  await room;
  expect(outgoing.destroyed).toBe(true);
});

test("O-42 an answer ends after two minutes when its last part is not read", async () => {
  const clock = handClock();
  const outgoing = await unreadAnswer();
  endAnswer(outgoing, clock);
  await clock.pass(stuckMs - 1);
  expect(outgoing.destroyed).toBe(false);
  await clock.pass(1);
  expect(outgoing.destroyed).toBe(true);
});

test("O-42 a reader that continues to read keeps its answer", async () => {
  const clock = handClock();
  const outgoing = await unreadAnswer();
  const room = drained(outgoing, clock);
  outgoing.emit("drain");
  await room;
  await clock.pass(2 * stuckMs);
  expect(outgoing.destroyed).toBe(false);
  await drained(outgoing.destroy(), clock);
});
