import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { handClock } from "../../../runtime/clock/hand-clock.testing.ts";
import { LateRequests } from "./late-requests.ts";

/** A request with a body, of which nothing more arrives. */
function request(parts: Partial<IncomingMessage> = {}) {
  const incoming = Object.assign(new EventEmitter(), {
    method: "POST",
    url: "/api/v1/jobs",
    headers: { "content-length": "10" },
    complete: false,
    isEnded: false,
    ...parts,
  });
  const socket = {
    destroy() {
      incoming.isEnded = true;
    },
  };
  return Object.assign(incoming, { socket }) as unknown as IncomingMessage & { isEnded: boolean };
}

test("a request whose body has not arrived within a minute is ended, unless it uploads a file", async () => {
  const clock = handClock();
  const late = new LateRequests(clock);
  const slow = request();
  const chunked = request({ headers: { "transfer-encoding": "chunked" } });
  const others = [
    request({ method: "PUT", url: "/api/v1/objects/ticket" }),
    request({ method: "PUT", url: "/api/objects/ticket" }),
    request({ complete: true }),
    request({ method: "GET", headers: {} }),
  ];
  const elsewhere = request({ url: "/api/v1/jobs?x=/api/v1/objects/", method: "PUT" });
  for (const one of [slow, chunked, elsewhere, ...others]) late.watch(one);
  late.start();
  await clock.pass(60_000);
  expect(slow.isEnded).toBe(false);
  await clock.pass(5_000);
  expect([slow, chunked, elsewhere].map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
  expect(others.map(({ isEnded }) => isEnded)).toEqual([false, false, false, false]);
  late.stop();
});
