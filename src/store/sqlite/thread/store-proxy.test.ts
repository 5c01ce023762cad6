import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { StoreProxy } from "./store-proxy.ts";
import type { ToThread } from "./wire.ts";

function start() {
  const posted: number[][] = [];
  const proxy = new StoreProxy((message: ToThread) => {
    if (message.kind === "requests") posted.push(message.requests.map(({ id }) => id));
    else proxy.end("closed");
  });
  const call = () => void proxy.call("ping", undefined).catch(() => {});
  const answer = (id: number) =>
    proxy.receive({ kind: "batch", answers: [{ id, value: null }], notice: null, writes: 0 });
  return { posted, proxy, call, answer };
}

it("sends a call at once to a thread that does nothing", async () => {
  const { posted, call, answer } = start();
  call();
  await Promise.resolve();
  expect(posted).toEqual([[1]]);
  answer(1);
  call();
  await Promise.resolve();
  expect(posted).toEqual([[1], [2]]);
});

it("sends the calls of one turn in one message while the thread works", async () => {
  const { posted, call } = start();
  call();
  await Promise.resolve();
  for (let calls = 0; calls < 3; calls++) {
    call();
    await Promise.resolve();
  }
  expect(posted).toEqual([[1]]);
  await turn();
  expect(posted).toEqual([[1], [2, 3, 4]]);
});

it("does not let a thread wait that could have many calls already", async () => {
  const { posted, call } = start();
  call();
  await Promise.resolve();
  for (let calls = 0; calls < 20; calls++) call();
  expect(posted.map((ids) => ids.length)).toEqual([1, 16]);
  await turn();
  expect(posted.map((ids) => ids.length)).toEqual([1, 16, 4]);
});

it("sends what waits for the end of the turn before it closes", async () => {
  const { posted, proxy, call } = start();
  call();
  await Promise.resolve();
  call();
  await proxy.close();
  expect(posted).toEqual([[1], [2]]);
});
