import { expect, it } from "vitest";
import type { CommitNotice } from "../../event-store.ts";
import { StoreProxy } from "./store-proxy.ts";
import type { Request } from "./wire.ts";

const reads = { call: async () => undefined, close: async () => {} };
const notice = (handedOver: CommitNotice["handedOver"]): CommitNotice =>
  ({ handedOver, ready: [], signals: [] }) as unknown as CommitNotice;
const handedOver = [{ claimId: "claim 1", claimed: [] }];

function scene() {
  const sent: Request[] = [];
  const heard: string[] = [];
  const proxy = new StoreProxy((message) => {
    if (message.kind === "requests") sent.push(...message.requests);
  });
  proxy.store(reads).onCommit(() => {
    // As much as answering a claim takes: some steps, and no turn of the event loop.
    void Promise.resolve()
      .then(() => {})
      .then(() => heard.push("notice"));
  });
  const call = (name: string): Promise<unknown> =>
    proxy.call("submitJobs", name).then(
      () => heard.push(name),
      () => heard.push(`${name} failed`),
    );
  const answers = (from: number, to: number) => sent.slice(from, to).map(({ id }) => ({ id, value: null }));
  return { proxy, heard, call, answers };
}

it("tells of jobs that were handed over before it answers the calls that submitted them", async () => {
  const { proxy, heard, call, answers } = scene();
  const calls = [call("first"), call("second")];
  await Promise.resolve();
  proxy.receive({ kind: "batch", answers: answers(0, 2), notice: notice(handedOver), writes: 2 });
  await Promise.all(calls);
  expect(heard).toEqual(["notice", "first", "second"]);
});

it("answers in the order of the transactions, however fast the next one follows", async () => {
  const { proxy, heard, call, answers } = scene();
  const calls = [call("first"), call("second")];
  await Promise.resolve();
  proxy.receive({ kind: "batch", answers: answers(0, 1), notice: notice(handedOver), writes: 1 });
  proxy.receive({ kind: "batch", answers: answers(1, 2), notice: null, writes: 1 });
  await Promise.all(calls);
  expect(heard.filter((name) => name !== "notice")).toEqual(["first", "second"]);
});

it("gives the answers that it has when the thread ends, and fails only the other calls", async () => {
  const { proxy, heard, call, answers } = scene();
  const calls = [call("first"), call("second")];
  await Promise.resolve();
  proxy.receive({ kind: "batch", answers: answers(0, 1), notice: notice(handedOver), writes: 1 });
  proxy.end("killed");
  await Promise.all(calls);
  expect(heard.filter((name) => name !== "notice")).toEqual(["first", "second failed"]);
});
