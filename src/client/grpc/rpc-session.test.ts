import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { jobStatus, startTinyRpcHub } from "../../../test/support/tiny-rpc-hub.ts";
import { jobService } from "../../contract/gen/writ/v1/job_service.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { frameMessage } from "../../runtime/grpc/message-frames.ts";
import { RpcSession } from "./rpc-session.ts";

/** A session to a hub over a line that can fall silent, as when the hub's machine was switched off. */
async function open() {
  const hub = await startTinyRpcHub({
    getStatus: () => jobStatus(),
    async *streamOutput() {
      yield { data: Buffer.from("first") };
      await new Promise(() => {});
    },
  });
  const sockets = new Set<Socket>();
  const line = createServer((socket) => {
    const onward = connect(hub.port, "127.0.0.1");
    for (const each of [socket, onward]) sockets.add(each.on("error", () => {}));
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(line, "listening");
  const read = (name: string) => readFileSync(join(hub.home, name), "utf8");
  const trust = { ca: read("ca.crt"), cert: read("client.crt"), key: read("client.key") };
  const { port } = line.address() as AddressInfo;
  const clock = handClock();
  const session = new RpcSession({ host: "127.0.0.1", port, from: "option", ...trust }, clock);
  onTestFinished(async () => {
    session.close();
    for (const socket of sockets) socket.destroy();
    line.close();
    await hub[Symbol.asyncDispose]();
  });
  const silence = (): void => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { session, clock, silence, connections: () => sockets.size / 2 };
}

async function request(session: RpcSession, { path }: { path: string }) {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = await session.request(headers, new AbortController().signal);
  stream.on("error", () => {}).end(frameMessage(Buffer.alloc(0)));
  await once(stream, "response");
  return stream;
}

test("a stream of a hub that has fallen silent ends after a ping without an answer", async () => {
  const { session, clock, silence } = await open();
  const stream = await request(session, jobService.streamOutput);
  silence();
  await clock.pass(29_999);
  expect(stream.destroyed).toBe(false);
  await clock.pass(1);
  if (!stream.closed) await once(stream, "close");
  expect(stream.destroyed).toBe(true);
});

test("a connection that was not used for long is checked before a call, and replaced if it is dead", async () => {
  const { session, clock, silence, connections } = await open();
  const first = await request(session, jobService.getStatus);
  first.resume();
  await once(first, "close");
  silence();
  await clock.pass(20_001);
  const second = request(session, jobService.getStatus);
  await setImmediate();
  await clock.pass(10_000);
  (await second).resume();
  expect(connections()).toBe(2);
});

test("a closed session ends open requests and refuses new ones", async () => {
  const { session } = await open();
  const stream = await request(session, jobService.streamOutput);
  session.close();
  if (!stream.closed) await once(stream, "close");
  await expect(request(session, jobService.getStatus)).rejects.toThrow("closed");
});
