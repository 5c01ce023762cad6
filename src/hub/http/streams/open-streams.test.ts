import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { WritError } from "../../../core/errors.ts";
import { handClock } from "../../../runtime/clock/hand-clock.testing.ts";
import { OpenStreams } from "./open-streams.ts";

/** A response that keeps what is written to it. */
function aResponse() {
  const written: string[] = [];
  const response = Object.assign(new EventEmitter(), {
    ...{ destroyed: false, writableNeedDrain: false, isEnded: false },
    writeHead: () => {},
    flushHeaders: () => {},
    write: (chunk: string) => written.push(chunk) > 0,
    end() {
      response.isEnded = true;
    },
    destroy() {
      response.destroyed = true;
    },
  });
  return { response, outgoing: response as unknown as ServerResponse, written };
}

const away = async (): Promise<boolean> => {
  throw new WritError("STORE_UNAVAILABLE", "the database does not answer");
};

test("streams are kept alive and checked although the token of an earlier stream cannot be looked up", async () => {
  const clock = handClock();
  const failures: unknown[] = [];
  const streams = new OpenStreams(clock, (error) => failures.push(error));
  const [unknown, good, revoked] = [aResponse(), aResponse(), aResponse()];
  const options = { headers: {}, ping: "ping", onEnd: () => {} };
  streams.open(unknown.outgoing, { ...options, isStillAllowed: away });
  streams.open(good.outgoing, { ...options, isStillAllowed: async () => true });
  streams.open(revoked.outgoing, { ...options, isStillAllowed: async () => false });
  await streams.start();
  onTestFinished(() => streams.stop());
  // The first check has ended, and the next one has its timer.
  await nextTurn();
  await clock.pass(20_000);
  expect([unknown, good].map(({ written }) => written)).toEqual([["ping"], ["ping"]]);
  expect([unknown, good, revoked].map(({ response }) => response.isEnded)).toEqual([false, false, true]);
  expect(failures[0]).toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("streams are kept alive while the database does not answer", async () => {
  const clock = handClock();
  const streams = new OpenStreams(clock, () => {});
  const asked = Promise.withResolvers<boolean>();
  const [waiting, other] = [aResponse(), aResponse()];
  const options = { headers: {}, ping: "ping", onEnd: () => {} };
  streams.open(waiting.outgoing, { ...options, isStillAllowed: () => asked.promise });
  streams.open(other.outgoing, { ...options, isStillAllowed: async () => true });
  await streams.start();
  await nextTurn();
  await clock.pass(20_000);
  expect([waiting, other].map(({ written }) => written)).toEqual([["ping"], ["ping"]]);
  asked.resolve(true);
  await streams.stop();
});

test("nothing is buffered for a reader that does not read, and further hints do not keep its stream open", async () => {
  const clock = handClock();
  const streams = new OpenStreams(clock, () => {});
  const stuck = aResponse();
  const stream = streams.open(stuck.outgoing, {
    ...{ headers: {}, ping: "ping", onEnd: () => {} },
    isStillAllowed: async () => true,
  });
  await streams.start();
  onTestFinished(() => streams.stop());
  await nextTurn();
  stuck.response.writableNeedDrain = true;
  for (let second = 0; second < 130; second += 10) {
    stream.hint("work");
    await clock.pass(10_000);
  }
  expect(stuck.written).toEqual([]);
  expect(stuck.response.destroyed).toBe(true);
});
