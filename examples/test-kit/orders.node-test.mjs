import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { callHandler, TestHub } from "writ/testing";
import { addHandlers, placeOrder } from "./orders.mjs";

const order = { id: 7, email: "ada@example.com" };
const sent = [];
const mailer = { send: async (mail) => void sent.push(mail.subject) };
const hub = new TestHub({ now: new Date("2030-01-31T08:00:00Z") });

before(async () => {
  addHandlers(hub, mailer);
  await hub.start();
});
after(() => hub.stop());

test("an order is confirmed at once, and reminded of a day later", async () => {
  await placeOrder(hub.writ, order);
  await hub.expectJob("email.send", { to: "ada@example.com" });
  assert.deepEqual(sent, ["Order 7"]);
  await hub.advance("23h");
  assert.deepEqual(sent, ["Order 7"]);
  await hub.advance("1h");
  assert.deepEqual(sent, ["Order 7", "Still waiting: 7"]);
});

test("a handler alone", async () => {
  const handlers = new Map();
  addHandlers({ handle: (type, handler) => handlers.set(type, handler) }, mailer);
  const { logs } = await callHandler("email.send", handlers.get("email.send"), { to: "ada@example.com" });
  assert.deepEqual(logs, ["to ada@example.com"]);
});
