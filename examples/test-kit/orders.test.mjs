import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TestHub } from "writ/testing";
import { addHandlers, placeOrder } from "./orders.mjs";

const mailer = { send: vi.fn() };
let hub;

beforeEach(async () => {
  mailer.send.mockReset();
  hub = new TestHub({ mode: "manual" });
  addHandlers(hub, mailer);
  await hub.start();
});
afterEach(() => hub.stop());

test("nothing is sent until the jobs run", async () => {
  await placeOrder(hub.writ, { id: 7, email: "ada@example.com" });
  expect(mailer.send).not.toHaveBeenCalled();
  expect(await hub.run()).toMatchObject([{ type: "email.send", status: "completed" }]);
  expect(mailer.send).toHaveBeenCalledOnce();
});

test("a mail server that is away is tried again half a minute later", async () => {
  mailer.send.mockRejectedValueOnce(new Error("connection refused"));
  await placeOrder(hub.writ, { id: 7, email: "ada@example.com" });
  expect(await hub.run()).toMatchObject([{ status: "pending", attempt: 1 }]);
  await hub.advance("30s");
  expect(await hub.run()).toMatchObject([{ status: "completed", attempt: 2 }]);
});
