import { expect, test } from "vitest";
import { lastSeq, readEvents } from "../support/database.ts";
import { startMemoryHub } from "../support/memory-hub.ts";

test("a forwarded address counts only from a proxy that is trusted", async () => {
  const hub = await startMemoryHub({ WRIT_TRUSTED_PROXIES: "127.5.0.1, 127.5.0.2" });
  const addressOf = async (from: string, forwarded: string) => {
    const seq = lastSeq(hub.home);
    await hub.call("GET", "/jobs", { from, headers: { "X-Forwarded-For": forwarded } });
    return readEvents(hub.home, seq)[0]?.origin?.ipAddress;
  };
  expect(await addressOf("127.5.0.1", "203.0.113.7")).toBe("203.0.113.7");
  expect(await addressOf("127.5.0.2", "198.51.100.1, 203.0.113.8")).toBe("203.0.113.8");
  expect(await addressOf("127.5.0.2", "not an address")).toBe("127.5.0.2");
  expect(await addressOf("127.5.0.3", "203.0.113.9")).toBe("127.5.0.3");
  await hub.stop();
});

test("O-39 failed logins from many addresses are all refused, and do not fill the log", async () => {
  const hub = await startMemoryHub({ WRIT_TRUSTED_PROXIES: "127.5.0.1" });
  const seq = lastSeq(hub.home);
  const fail = (forwarded: string) =>
    hub.call("GET", "/jobs", { from: "127.5.0.1", headers: { "X-Forwarded-For": forwarded } });
  const addresses = Array.from({ length: 1_500 }, (_, index) => `2001:db8:0:${index.toString(16)}::1`);
  const statuses = new Set((await Promise.all(addresses.map(fail))).map(({ status }) => status));
  expect([...statuses]).toEqual([401]);
  const events = readEvents(hub.home, seq);
  const hits = events.filter(({ event }) => event === "RATE_LIMIT_HIT");
  // Each tenth of a second allows one more, and each minute one more record of the limit.
  expect(events.filter(({ event }) => event === "LOGIN_FAILED").length).toBeLessThan(1_500);
  expect(hits[0]).toMatchObject({ details: { limit: "failed logins", from: "many addresses" } });
  const body = { type: "x" };
  expect((await hub.call("POST", "/jobs", { token: hub.admin, from: "127.5.0.1", body })).status).toBe(201);
  // All addresses of one network are one caller.
  const near = Array.from({ length: 60 }, (_, index) => `2001:db8:1:1::${index.toString(16)}`);
  expect((await Promise.all(near.map(fail))).map(({ status }) => status)).toContain(429);
  await hub.stop();
});

test("behind a proxy that speaks TLS the session cookie is Secure and the public address is our own page", async () => {
  const hub = await startMemoryHub({ WRIT_PUBLIC_URL: "https://writ.example" });
  const login = await hub.must("POST", "/session", { body: { token: hub.admin } });
  const [cookie] = login.headers["set-cookie"]!;
  expect(cookie).toContain("; Secure");
  const change = (headers: Record<string, string>) =>
    hub.call("DELETE", "/session", { headers: { Cookie: cookie!.split(";")[0]!, ...headers } });
  expect((await change({ Host: "writ.example", Origin: "https://writ.example.evil" })).status).toBe(403);
  expect((await change({ Host: "evil.example", Origin: "https://evil.example" })).status).toBe(403);
  expect((await change({ Host: "writ.example", Origin: "https://writ.example" })).status).toBe(204);
  await hub.stop();
});
