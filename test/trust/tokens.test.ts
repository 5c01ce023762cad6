import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { openEventStream } from "../support/event-stream.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { registerWorker } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

const whoAmI = async (token: string) => (await hub.call("GET", "/session", { token })).status;
const refresh = (token: string) => hub.call("POST", "/tokens/refresh", { token, body: {} });

describe("the administrator's token in the home", () => {
  const env = { ...stillEnv };
  const fileOf = (home: string) => readFileSync(join(home, "admin.token"), "utf8").trim();

  test("B14: is replaced in its file when it is refreshed, and another token is not", async () => {
    const own = await startTestHub(env);
    onTestFinished(() => own.stop());
    const other = await issueToken(own, { role: "admin" });
    await own.must("POST", "/tokens/refresh", { token: other.token, body: {} });
    expect(fileOf(own.home)).toBe(own.admin);
    const fresh = (await own.must("POST", "/tokens/refresh", { token: own.admin, body: {} })).json();
    expect(fileOf(own.home)).toBe(fresh["token"]);
    expect((await own.call("GET", "/session", { token: own.admin })).status).toBe(401);
    expect((await own.call("GET", "/session", { token: fileOf(own.home) })).status).toBe(200);
  });

  test("B14: is made anew at the next start if it was revoked", async () => {
    const first = await startTestHub(env);
    const [token] = (await first.must("GET", "/tokens", { token: first.admin })).json<{ id: string }[]>();
    await first.must("DELETE", `/tokens/${token!.id}`, { token: first.admin });
    await first.stop({ keepHome: true });
    const second = await startTestHub(env, { home: first.home });
    onTestFinished(() => second.stop());
    expect(second.admin).not.toBe(first.admin);
    expect((await second.call("GET", "/session", { token: second.admin })).status).toBe(200);
    expect((await second.call("GET", "/session", { token: first.admin })).status).toBe(401);
  });

  test("B14: from the environment stops the start if it was exchanged", async () => {
    const WRIT_ADMIN_TOKEN = `sk_admin_${"a".repeat(40)}`;
    const first = await startTestHub({ ...env, WRIT_ADMIN_TOKEN });
    await first.must("POST", "/tokens/refresh", { token: WRIT_ADMIN_TOKEN, body: {} });
    await first.stop({ keepHome: true });
    onTestFinished(() => rmSync(first.home, { recursive: true, force: true }));
    const started = startTestHub({ ...env, WRIT_ADMIN_TOKEN }, { home: first.home });
    await expect(started).rejects.toThrow(/^WRIT_ADMIN_TOKEN: this token was revoked or exchanged/);
  });
});

describe("a refresh", () => {
  test("of many at the same moment gives one live token", async () => {
    const { id, token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "alice" });
    const seq = lastSeq(hub.home);
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(token)));
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    for (const lost of answers.filter((answer) => answer !== won[0])) {
      expect(lost).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
    }
    const fresh = won[0]!.json<{ id: string; token: string }>();
    expect(await whoAmI(token)).toBe(401);
    expect(await whoAmI(fresh.token)).toBe(200);
    const events = readEvents(hub.home, seq).filter(({ event }) => event !== "LOGIN_FAILED");
    expect(events).toMatchObject([
      { event: "TOKEN_REFRESH", tenant_id: "acme", details: { token_id: fresh.id, replaces: id } },
    ]);
    expect(JSON.stringify(events)).not.toContain(fresh.token);
  });

  test("of a token that was revoked or has ended is refused and changes nothing", async () => {
    const revoked = await issueToken(hub, { role: "user" });
    await hub.must("DELETE", `/tokens/${revoked.id}`, { token: hub.admin });
    const before = snapshot(hub.home);
    expect(await refresh(revoked.token)).toMatchObject({ status: 401 });
    expect(snapshot(hub.home)).toBe(before);
  });

  test("ends the sessions and the streams of the old token", async () => {
    const { token } = await issueToken(hub, { role: "viewer" });
    const login = await hub.must("POST", "/session", { body: { token } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0]!;
    const stream = await openEventStream(hub, "/jobs/events", { token });
    expect((await hub.call("GET", "/session", { headers: { cookie } })).status).toBe(200);
    await refresh(token);
    expect((await hub.call("GET", "/session", { headers: { cookie } })).status).toBe(401);
    await stream.ended;
  });
});

test("A-02: blocking a worker ends its command stream, though its token still holds", async () => {
  const { token } = await issueToken(hub, { role: "worker", worker_id: "w-a02" });
  await registerWorker(hub, { token, worker_id: "w-a02" });
  const stream = await openEventStream(hub, "/workers/w-a02/commands", { token });
  await hub.must("POST", "/workers/w-a02/block", { token: hub.admin, body: {} });
  await stream.ended;
  expect(await whoAmI(token)).toBe(200);
});

test("a login and a failed one are in the audit trail, with who and from where", async () => {
  const { id, token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "carol" });
  const seq = lastSeq(hub.home);
  await hub.must("POST", "/session", { body: { token } });
  await hub.call("POST", "/session", { body: { token: "sk_user_wrong" } });
  expect(readEvents(hub.home, seq)).toMatchObject([
    {
      event: "LOGIN_SUCCESS",
      tenant_id: "acme",
      details: { token_id: id, user_id: "carol" },
      origin: { userId: "carol", ipAddress: "127.0.0.1", endpoint: "/session", method: "POST" },
    },
    { event: "LOGIN_FAILED", origin: { ipAddress: "127.0.0.1", endpoint: "/session" } },
  ]);
});
