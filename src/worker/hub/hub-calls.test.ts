import { afterEach, beforeEach, expect, test } from "vitest";
import { createHttpClient } from "../../runtime/http/http-client.ts";
import { FakeHub } from "../fake-hub.testing.ts";
import { createHubCalls, type Registration } from "./hub-calls.ts";

const known: Registration = { worker_id: "w1", cores: 1, ram_gb: 1, tags: [] };
const full: Registration = { ...known, agent_problems: [{ agent: "coder", why: "it is not installed" }] };

let hub: FakeHub;
beforeEach(async () => {
  hub = new FakeHub();
  await hub.start();
});
afterEach(() => hub.stop());

/** Registers as a worker does, and returns what the hub received and which abilities the worker assumes. */
async function register(registration: Registration) {
  const client = createHttpClient({ baseUrls: [hub.url], token: "t" });
  const calls = createHubCalls(client, { workerId: "w1", bootId: "b", timeoutMs: 10_000 });
  expect(calls.accepts("final")).toBe(false);
  await calls.register(registration, AbortSignal.timeout(10_000));
  client.close();
  return { calls, told: hub.calls.map(({ body }) => body) };
}

test("a hub that names no abilities is of version 0.1 and receives the fields of that version, once", async () => {
  hub.abilities = undefined;
  const { calls, told } = await register(full);
  expect(told).toEqual([known]);
  expect([calls.accepts("final"), calls.accepts("stopped")]).toEqual([false, false]);
});

test("a hub receives a newer field only if it has named it", async () => {
  hub.abilities = "something-of-2027, final";
  const { calls, told } = await register(full);
  expect(told).toEqual([known]);
  expect([calls.accepts("final"), calls.accepts("stopped")]).toEqual([true, false]);
});

test("a hub that has named a field receives it in a second registration", async () => {
  hub.abilities = "agent_problems";
  expect((await register(full)).told).toEqual([known, full]);
});

test("a worker without newer fields registers once", async () => {
  const { calls, told } = await register(known);
  expect(told).toEqual([known]);
  expect(calls.accepts("refused-claims")).toBe(true);
});
