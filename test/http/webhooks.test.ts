import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WebhookView } from "../../src/hub/views/webhook-view.ts";
import { errorOf } from "../support/call-http.ts";
import { type Tenant, WebhookHub } from "../support/webhook-hub.ts";

let at: WebhookHub;
let acme: Tenant;
beforeAll(async () => {
  at = await WebhookHub.start("inside.example:8080,10.0.0.5");
  acme = await at.newTenant();
});
afterAll(() => at.hub.stop());

const url = "https://receiver.example/writ";
const events = ["job:failed"];

describe("a webhook is refused", () => {
  test.each([
    [{ url }, "events: "],
    [{ events }, "url: "],
    [{ url, events: [] }, "events"],
    [{ url, events: ["job:done"] }, "events[0]: "],
    [{ url, events, filter: { types: [] } }, "filter.types"],
    [{ url, events, filter: { params: [] } }, "filter.params: is an unknown field"],
    [{ url: "receiver.example", events }, "url: must be a complete URL"],
    [{ url: "ftp://receiver.example/", events }, "url: must begin with https://, not with ftp:"],
    [{ url: "https://a:b@receiver.example/", events }, "url: must not contain a user name or a password"],
    [{ url: "https://receiver.example/\\n", events }, "url: must not contain spaces, control characters"],
    [{ url: "http://receiver.example/", events }, "url: receiver.example may be called only by https"],
    [{ url: "https://receiver.example:8443/", events }, "may be called only at port 443"],
    [{ url: "https://localhost/", events }, "url: localhost is this machine"],
    [{ url: "https://127.1/", events }, "url: 127.0.0.1 is loopback"],
    [{ url: "https://[::ffff:10.0.0.1]/", events }, "is an IPv4 address in another form"],
    [{ url: "https://169.254.169.254/", events }, "is link-local"],
    [{ url: "https://inside.example/", events }, null],
  ])("with %j", async (body, said) => {
    const answer = await at.hub.call("PUT", "/webhooks/refused", { token: acme.admin, body });
    // The port is part of what the operator allows; without it this is a public name like any other.
    if (said === null) return expect(answer.status).toBe(201);
    expect([answer.status, errorOf(answer.text).code]).toEqual([400, "INVALID_ARGUMENT"]);
    expect(answer.text).toContain(said);
  });

  test("to everybody but administrators, and does not exist for those of another tenant", async () => {
    const { name } = await at.put(acme, { url });
    const eve = await at.newTenant();
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["POST", "/rotate", {}],
      ["POST", "/redeliver", { from_seq: 1 }],
    ] as const) {
      const as = (token: string) => at.hub.call(method, `/webhooks/${name}${path}`, { token, body });
      expect((await as(acme.user)).status).toBe(403);
      expect((await as(eve.admin)).status).toBe(404);
    }
    expect((await at.hub.call("GET", "/webhooks", { token: acme.user })).status).toBe(403);
    const seen = (await at.hub.must("GET", "/webhooks", { token: eve.admin })).json<unknown[]>();
    expect(seen).toEqual([]);
    const other = `/webhooks/${name}?tenant=${acme.tenant}`;
    expect((await at.hub.call("GET", other, { token: eve.admin })).status).toBe(404);
    expect((await at.hub.call("GET", other, { token: at.hub.admin })).status).toBe(200);
  });

  test("beyond the quota of its tenant, which is 20 by default", async () => {
    const many = await at.newTenant();
    for (let count = 0; count < 20; count++) await at.put(many, { url });
    const body = { url, events };
    const more = await at.hub.call("PUT", "/webhooks/more", { token: many.admin, body });
    expect([more.status, errorOf(more.text).code]).toEqual([429, "QUOTA_EXCEEDED"]);
    const quota = { token: at.hub.admin, body: { max_webhooks: 21 } };
    await at.hub.must("PUT", `/tenants/${many.tenant}/quota`, quota);
    expect((await at.hub.call("PUT", "/webhooks/more", { token: many.admin, body })).status).toBe(201);
  });

  test("a redelivery of what is not in the log", async () => {
    const { name } = await at.put(acme, { url });
    const { last } = await at.hub.deps.store.eventRange();
    const body = { from_seq: last + 100 };
    const answer = await at.hub.call("POST", `/webhooks/${name}/redeliver`, { token: acme.admin, body });
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining("from_seq: must be from 1 to"),
    ]);
  });
});

describe("a webhook", () => {
  test("shows its secret once, and the same PUT changes nothing", async () => {
    const body = { url: "http://inside.example:8080/x", events: ["job:failed", "job:completed"] };
    const put = (change: object = {}) =>
      at.hub.must("PUT", "/webhooks/once", { token: acme.admin, body: { ...body, ...change } });
    const made = await put();
    const { secret, ...rest } = made.json<WebhookView>();
    expect([made.status, secret]).toEqual([201, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)]);
    expect(rest).toMatchObject({ state: "active", events: ["job:completed", "job:failed"], filter: {} });
    const again = await put();
    expect([again.status, again.json()]).toEqual([200, rest]);
    const changed = (await put({ filter: { types: ["a"] } })).json<WebhookView>();
    expect([changed.secret, changed.filter]).toEqual([undefined, { types: ["a"] }]);
    expect((await at.get(acme, "once")).secret).toBe(undefined);
  });

  test("has a new secret when it is rotated, and when it is made anew", async () => {
    const { name, secret } = await at.put(acme, { url });
    const rotate = await at.hub.must("POST", `/webhooks/${name}/rotate`, { token: acme.admin, body: {} });
    const rotated = rotate.json<WebhookView>();
    await at.hub.must("DELETE", `/webhooks/${name}`, { token: acme.admin });
    expect((await at.hub.call("GET", `/webhooks/${name}`, { token: acme.admin })).status).toBe(404);
    const anew = await at.put(acme, { url }, name);
    expect(new Set([secret, rotated.secret, anew.secret]).size).toBe(3);
    expect(rotated.secrets).toEqual([
      { created_at: at.nowMs, expires_at: null },
      { created_at: at.nowMs, expires_at: at.nowMs + 86_400_000 },
    ]);
    const acts = (await at.eventsOf(acme, "WEBHOOK_CHANGED")).filter(({ webhook }) => webhook === name);
    expect(acts.map(({ act }) => act)).toEqual(["created", "rotated", "removed", "created"]);
  });

  test("has no secret in the database that it is made from", async () => {
    const { name, secret } = await at.put(acme, { url });
    const order = await at.hub.deps.store.getOrder({ kind: "webhook", tenantId: acme.tenant, name });
    const key = Buffer.from(secret!.slice("whsec_".length), "base64");
    const row = JSON.stringify(order);
    for (const form of ["base64", "base64url", "hex"] as const) expect(row).not.toContain(key.toString(form));
  });
});
