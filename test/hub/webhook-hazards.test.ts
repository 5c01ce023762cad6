import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { resetAllWebhooks } from "../../src/hub/use-cases/webhooks/reset-webhooks.ts";
import { eventually } from "../support/eventually.ts";
import { Receiver } from "../support/receiver.ts";
import { type Tenant, WebhookHub } from "../support/webhook-hub.ts";

let at: WebhookHub;
let receiver: Receiver;
let other: Receiver;
let acme: Tenant;
beforeAll(async () => {
  receiver = await Receiver.start();
  other = await Receiver.start();
  at = await WebhookHub.start(`${receiver.host},${other.host}`);
});
beforeEach(async () => {
  for (const one of [receiver, other]) {
    one.calls.length = 0;
    one.answer = () => ({ status: 204 });
  }
  at.failpoint = () => {};
  acme = await at.newTenant();
});
afterEach(() => at.clear());
afterAll(async () => {
  await receiver.stop();
  await other.stop();
  await at.hub.stop();
});

const created = (ids: readonly string[]): string[] => ids.map((id) => `job:created ${id}`);

describe("hazard 29", () => {
  test("a receiver that never answers is called again after 10 seconds, and delays no other", async () => {
    const slow = await at.put(acme, { url: other.url });
    await at.put(acme, { url: receiver.url });
    let answers = false;
    other.answer = () => (answers ? { status: 200 } : new Promise(() => {}));
    await at.serve();
    const ids = await at.submit(acme, 3);
    await at.passUntil("both are called", () => other.calls.length === 1);
    await eventually("the other has everything", async () => {
      await at.pass(20);
      return receiver.calls.length === 3;
    });
    expect(receiver.arrived).toEqual(created(ids));
    expect(other.arrived).toEqual(created(ids.slice(0, 1)));
    await at.pass(10_000);
    const { failing } = await at.untilState(acme, slow.name, "failing");
    expect(failing).toMatchObject({ tries: 1, reason: "the call failed: no response within 10000 ms" });
    answers = true;
    await at.passUntil("the slow one has everything", () => other.calls.length >= 4);
    // In order: what was first is tried first, and nothing is sent before it.
    expect(other.arrived).toEqual(created([ids[0]!, ...ids]));
  });

  test("retries keep the order, the body and the id, and have a time of their own", async () => {
    await at.put(acme, { url: receiver.url });
    const fails = new Set([1, 2, 4]);
    receiver.answer = () => ({ status: fails.has(receiver.calls.length) ? 503 : 200 });
    await at.serve();
    const ids = await at.submit(acme, 3);
    await at.passUntil("all have arrived", () => receiver.calls.length === 6);
    const [first, second, third] = ids as [string, string, string];
    expect(receiver.arrived).toEqual(created([first, first, first, second, second, third]));
    const [one, two] = receiver.calls as [(typeof receiver.calls)[0], (typeof receiver.calls)[0]];
    expect([two.text, two.headers["webhook-id"]]).toEqual([one.text, one.headers["webhook-id"]]);
    expect(Number(two.headers["webhook-timestamp"])).toBeGreaterThan(
      Number(one.headers["webhook-timestamp"]),
    );
  });

  test("a host with a private address is not connected to, and the reason is told", async () => {
    const { name } = await at.put(acme, { url: "https://inside.example/writ" });
    const asked: string[] = [];
    const network = {
      resolve: async (host: string) => {
        asked.push(host);
        return [{ address: "10.0.0.1", family: 4 }];
      },
      ownAddresses: () => [],
    };
    await at.serve({ network });
    await at.submit(acme, 1);
    const { failing } = await at.untilState(acme, name, "failing");
    expect(failing!.reason).toBe("inside.example has an address that is private");
    expect(asked).toEqual(["inside.example"]);
  });

  test("a redirect is not followed", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    receiver.answer = () => ({ status: 307, headers: { location: other.url } });
    await at.serve();
    await at.submit(acme, 1);
    const { failing } = await at.untilState(acme, name, "failing");
    expect([failing!.reason, other.calls]).toEqual(["it answered 307; redirects are not followed", []]);
  });
});

describe("a webhook", () => {
  test("is sent what the live stream says of the jobs that it asks for, signed with its secret", async () => {
    const { secret } = await at.put(acme, { url: receiver.url, filter: { types: ["wanted"] } });
    const foreign = await at.newTenant();
    await at.serve();
    await at.submit(acme, 1);
    await at.submit(foreign, 1, { type: "wanted" });
    const secretJob = {
      type: "wanted",
      params: { a: "hidden" },
      run: { kind: "exec", argv: ["hidden"], env: { A: "hidden" } },
    };
    const [id] = await at.submit(acme, 1, secretJob);
    await at.passUntil("it has arrived", () => receiver.calls.length > 0);
    const [call] = receiver.calls as [(typeof receiver.calls)[0]];
    const { seq } = call.message.data;
    const ts = call.message.data["ts"] as number;
    const data = { id, type: "wanted", status: "pending", worker_id: null, attempt: 0, priority: 5, ts, seq };
    expect(call.message).toEqual({ type: "job:created", timestamp: new Date(ts).toISOString(), data });
    expect(call.text).not.toContain("hidden");
    const {
      "webhook-id": messageId,
      "webhook-timestamp": sentAt,
      "webhook-signature": signature,
    } = call.headers;
    const key = Buffer.from(secret!.slice("whsec_".length), "base64");
    const signed = createHmac("sha256", key).update(`${messageId}.${sentAt}.${call.text}`).digest("base64");
    expect(signature).toBe(`v1,${signed}`);
    expect(receiver.arrived).toEqual(created([id!]));
  });

  test("signs with both secrets for a day after a rotation, and then with the new one", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    const rotated = await at.hub.must("POST", `/webhooks/${name}/rotate`, { token: acme.admin, body: {} });
    expect(rotated.json()).toMatchObject({ secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    await at.serve();
    const signatures = async (): Promise<number> => {
      receiver.calls.length = 0;
      await at.submit(acme, 1);
      await at.passUntil("it has arrived", () => receiver.calls.length > 0);
      return String(receiver.calls[0]!.headers["webhook-signature"]).split(" ").length;
    };
    expect(await signatures()).toBe(2);
    at.leap(86_400_000);
    expect(await signatures()).toBe(1);
  });

  test("passes an event that is refused five times, and says which", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    const ids = await at.submit(acme, 2);
    receiver.answer = ({ message }) => ({ status: message.data.id === ids[0] ? 422 : 200 });
    await at.serve();
    const isNoted = async (): Promise<boolean> => (await at.get(acme, name)).delivered.count === 1;
    await at.passUntil("the second is noted", isNoted, 5_000);
    expect(receiver.arrived).toEqual(created([...Array<string>(5).fill(ids[0]!), ids[1]!]));
    const view = await at.get(acme, name);
    expect(view).toMatchObject({
      state: "active",
      given_up: { count: 1, last: { job_id: ids[0], status: 422 } },
      delivered: { count: 1 },
    });
    const { seq } = view.given_up.last!;
    const given = { webhook: name, act: "given_up", seq, job_id: ids[0], status: 422 };
    expect(await at.eventsOf(acme, "WEBHOOK_CHANGED")).toContainEqual(given);
  });

  test("that fails for a day is disabled, and continues where it was when it is enabled", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    receiver.answer = () => ({ status: 500 });
    await at.serve();
    const ids = await at.submit(acme, 2);
    await at.untilState(acme, name, "failing");
    at.leap(86_400_000);
    await at.untilState(acme, name, "disabled");
    const reason = "it has failed for 24 hours: it answered 500";
    expect(await at.eventsOf(acme, "WEBHOOK_DISABLED")).toMatchObject([{ webhook: name, reason }]);
    receiver.calls.length = 0;
    receiver.answer = () => ({ status: 200 });
    await at.pass(5_000);
    expect(receiver.calls).toEqual([]);
    await at.put(acme, { url: receiver.url }, name);
    await at.passUntil("both have arrived", () => receiver.calls.length === 2);
    expect(receiver.arrived).toEqual(created(ids));
  });

  test("that answers 410 is disabled at once; redeliver sends again from any event", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    receiver.answer = () => ({ status: receiver.calls.length === 2 ? 410 : 200 });
    await at.serve();
    const ids = await at.submit(acme, 2);
    await at.untilState(acme, name, "disabled");
    const { seq } = receiver.calls[0]!.message.data;
    const body = { from_seq: seq };
    await at.hub.must("POST", `/webhooks/${name}/redeliver`, { token: acme.admin, body });
    await at.passUntil("both have arrived", () => receiver.calls.length === 4);
    expect(receiver.arrived).toEqual(created([...ids, ...ids]));
    expect(receiver.calls[2]!.headers["webhook-id"]).toBe(receiver.calls[0]!.headers["webhook-id"]);
  });

  test("is continued by the next hub where the one before was killed: at least once, in order", async () => {
    await at.put(acme, { url: receiver.url });
    at.failpoint = (name) => {
      if (name === "webhooks.afterCall" && receiver.calls.length === 2) throw new Error("killed");
    };
    const first = await at.serve();
    const ids = await at.submit(acme, 3);
    await at.passUntil("it was killed", () => receiver.calls.length >= 2, 10);
    await first.stop();
    at.failpoint = () => {};
    const next = await at.another();
    const second = await at.serve({ deps: next.deps });
    await at.passUntil("all have arrived", () => receiver.arrived.includes(`job:created ${ids[2]}`));
    expect(new Set(receiver.arrived)).toEqual(new Set(created(ids)));
    const firstOfEach = ids.map((id) => receiver.arrived.indexOf(`job:created ${id}`));
    expect(firstOfEach).toEqual(firstOfEach.toSorted((a, b) => a - b));
    await second.stop();
    await next.stop();
  });

  test("whose row was edited sends nothing, and is reported once", async () => {
    const { name } = await at.put(acme, { url: receiver.url });
    const { store } = at.hub.deps;
    const order = (await store.getOrder({ kind: "webhook", tenantId: acme.tenant, name }))!;
    const edited = { ...order, state: order.state.replace("/writ", "/else") };
    await store.putOrder({ order: edited, revisionBefore: order.revision, events: [], most: 99 });
    await at.serve();
    await at.submit(acme, 1);
    await at.passUntil(
      "it is reported",
      async () => (await at.eventsOf(acme, "SECURITY_VIOLATION")).length > 0,
    );
    await at.pass(5_000);
    expect(receiver.calls).toEqual([]);
    expect(await at.eventsOf(acme, "SECURITY_VIOLATION")).toMatchObject([
      { webhook: name, violation_type: "INVALID_SEAL" },
    ]);
    expect((await at.get(acme, name).catch((error: Error) => error)) as unknown).toBeInstanceOf(Error);
  });
});

test("hazard 7: after a backup was restored, nothing that was delivered is sent again", async () => {
  const { name } = await at.put(acme, { url: receiver.url });
  await at.submit(acme, 3);
  const before = (await at.get(acme, name)).seq;
  await resetAllWebhooks(at.hub.deps, "the hub continues with an older database");
  expect((await at.get(acme, name)).seq).toBeGreaterThan(before);
  expect(await at.eventsOf(acme, "WEBHOOK_CHANGED")).toContainEqual(
    expect.objectContaining({ webhook: name, act: "reset", from_seq: before }),
  );
  await at.serve();
  const [id] = await at.submit(acme, 1);
  await at.passUntil("the new one has arrived", () => receiver.calls.length > 0);
  expect(receiver.arrived).toEqual(created([id!]));
});
