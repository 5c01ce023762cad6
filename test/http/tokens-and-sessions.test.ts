import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import type { CallOptions } from "../support/call-http.ts";
import { readEvents, snapshot } from "../support/database.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { type IssuedToken, issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const whoAmI = (token: string) => hub.call("GET", "/session", { token });

describe("a token", () => {
  test("says who its holder is, is listed without its secret, and is kept only as a hash", async () => {
    const { id, token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "carol" });
    expect(token).toMatch(/^sk_user_[A-Za-z0-9_-]{43}$/);
    expect((await whoAmI(token)).json()).toEqual({
      role: "user",
      tenant_id: "acme",
      user_id: "carol",
      worker_id: null,
    });
    const list = await hub.must("GET", "/tokens", { token: hub.admin });
    expect(list.json<{ id: string }[]>().some((one) => one.id === id)).toBe(true);
    expect(list.text).not.toContain(token);
    expect(JSON.stringify(readEvents(hub.home))).not.toContain(token);
  });

  test("ends at once when it is revoked, with its sessions", async () => {
    const { id, token } = await issueToken(hub, { role: "user" });
    const cookie = await logIn(token);
    expect((await whoAmI(token)).status).toBe(200);
    expect((await hub.call("DELETE", `/tokens/${id}`, { token: hub.admin })).status).toBe(204);
    expect((await whoAmI(token)).status).toBe(401);
    expect((await hub.call("GET", "/session", { headers: { Cookie: cookie } })).status).toBe(401);
    expect((await hub.call("DELETE", `/tokens/${id}`, { token: hub.admin })).status).toBe(204);
  });

  test("that is revoked takes its open streams with it", async () => {
    const workerId = await registerWorker(hub);
    const user = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "dora" });
    const worker = await issueToken(hub, { role: "worker" });
    const { id: jobId } = await runningJob(hub, { token: user.token });
    const streams = [
      await openEventStream(hub, "/jobs/events", { token: user.token }),
      await openEventStream(hub, `/jobs/${jobId}/output/stdout?follow=true`, { token: user.token }),
      await openEventStream(hub, `/workers/${workerId}/commands`, { token: worker.token }),
    ];
    const other = await openEventStream(hub, "/jobs/events", { token: tokens.alice });
    for (const { id } of [user, worker]) await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
    await Promise.all(streams.map((stream) => stream.ended));
    const { id } = await submitJob(hub, { token: tokens.alice });
    await other.until("another's stream goes on", ({ data }) => data["id"] === id);
    other.cut();
  });

  test("ends when its time is over", async () => {
    const { token } = await issueToken(hub, { role: "user", expires_in_sec: 3 });
    expect((await whoAmI(token)).status).toBe(200);
    const nextAddress = addresses(3);
    await eventually(
      "it has ended",
      async () => (await hub.call("GET", "/session", { token, from: nextAddress() })).status === 401,
    );
  });

  test("makes way for a new one with the same rights, that does not live longer than it was meant to", async () => {
    const wish = { role: "worker", tenant_id: "acme", worker_id: "w7", expires_in_sec: 100 } as const;
    const { token } = await issueToken(hub, wish);
    const body = { expires_in_sec: 86_400 };
    const renewed = (await hub.must("POST", "/tokens/refresh", { token, body })).json<IssuedToken>();
    expect((await whoAmI(token)).status).toBe(401);
    expect((await whoAmI(renewed.token)).json()).toMatchObject({
      role: "worker",
      tenant_id: "acme",
      worker_id: "w7",
    });
    const plain = (await hub.must("POST", "/tokens/refresh", { token: renewed.token })).json<IssuedToken>();
    const list = (await hub.must("GET", "/tokens", { token: hub.admin })).json<TokenRow[]>();
    for (const { id } of [renewed, plain]) {
      const { created_at: from, expires_at: to } = list.find((one) => one.id === id)!;
      expect(to! - from).toBe(100_000);
    }
  });

  test("of a tenant's administrator reaches no other tenant", async () => {
    const theirs = await issueToken(hub, { role: "user", tenant_id: "globex" });
    const before = snapshot(hub.home);
    const ask = (method: string, path: string, body?: unknown) =>
      hub.call(method, path, { token: tokens.acmeAdmin, body });
    expect((await ask("DELETE", `/tokens/${theirs.id}`)).status).toBe(404);
    expect((await ask("POST", "/tokens", { role: "user", tenant_id: "globex" })).status).toBe(403);
    expect((await ask("GET", "/tenants/globex/quota")).status).toBe(404);
    expect((await ask("PUT", "/tenants/globex/quota", {})).status).toBe(403);
    expect((await ask("PUT", "/tenants/acme/quota", {})).status).toBe(403);
    expect((await ask("PUT", "/queues/exec", { paused: true })).status).toBe(403);
    const onlyHub = "only an administrator of the hub can";
    const told = async (...call: Parameters<typeof ask>) =>
      (await ask(...call)).json<{ error: { message: string } }>().error.message;
    expect(await told("PUT", "/tenants/globex/quota", {})).toBe(`${onlyHub} set quotas`);
    expect(await told("POST", "/audit/verify")).toBe(
      `${onlyHub} check the whole audit trail: it concerns all tenants`,
    );
    expect(snapshot(hub.home)).toBe(before);
    expect((await ask("GET", "/tokens")).json<TokenRow[]>().every((one) => one.tenant_id === "acme")).toBe(
      true,
    );
    const own = await ask("POST", "/tokens", { role: "admin" });
    expect((await whoAmI(own.json<IssuedToken>().token)).json()).toMatchObject({
      role: "admin",
      tenant_id: "acme",
    });
  });
});

describe("a login code", () => {
  const codeOf = async (token: string) =>
    (await hub.must("POST", "/session/code", { token })).json<{ code: string }>().code;
  const redeem = (code: string) => hub.call("POST", "/session", { body: { code } });

  test("logs a browser in as its maker, once", async () => {
    const code = await codeOf(tokens.alice);
    const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(9);
    const cookie = answers.find(({ status }) => status === 200)!.headers["set-cookie"]![0]!.split(";")[0]!;
    const who = await hub.call("GET", "/session", { headers: { Cookie: cookie } });
    expect(who.json()).toMatchObject({ role: "user", user_id: "alice" });
    expect(JSON.stringify(readEvents(hub.home))).not.toContain(code);
  });

  test("is worth nothing after a minute, or once its token is revoked", async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
    const later = await startMemoryHub(stillEnv, { clock });
    onTestFinished(() => later.stop());
    const { code } = (await later.must("POST", "/session/code", { token: later.admin })).json<{
      code: string;
    }>();
    aheadMs = 60_001;
    expect(await later.call("POST", "/session", { body: { code } })).toMatchObject({ status: 401 });

    const { id, token } = await issueToken(hub, { role: "user" });
    const revoked = await codeOf(token);
    await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
    expect((await redeem(revoked)).status).toBe(401);
  });

  test("is no token and no cookie, and is not taken beside a token", async () => {
    const code = await codeOf(tokens.alice);
    expect((await whoAmI(code)).status).toBe(401);
    const [name] = (await logIn(tokens.alice)).split("=");
    const asCookie = { headers: { Cookie: `${name}=${code}` } };
    expect((await hub.call("GET", "/session", asCookie)).status).toBe(401);
    const both = await hub.call("POST", "/session", { body: { code, token: tokens.alice } });
    expect(both).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect((await redeem(code)).status).toBe(200);
  });
});

describe("a session", () => {
  test("comes as a cookie that no script and no other site can use", async () => {
    const answer = await hub.call("POST", "/session", { body: { token: tokens.alice } });
    expect(answer.json()).toMatchObject({ role: "user", user_id: "alice" });
    const [cookie] = answer.headers["set-cookie"]!;
    expect(cookie).toMatch(/^writ_session_[0-9a-f]{8}=[A-Za-z0-9_-]{43}; /);
    for (const flag of ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="]) expect(cookie).toContain(flag);
    expect(cookie).not.toContain(tokens.alice);
    const byHeader = await hub.call("POST", "/session", { token: tokens.alice, body: {} });
    expect(byHeader.headers["set-cookie"]).toHaveLength(1);
  });

  test("reads, and changes only what comes from the hub's own page under the hub's own name", async () => {
    const Cookie = await logIn(tokens.alice);
    const own = `http://127.0.0.1:${hub.port}`;
    const type = freshName("csrf");
    const call = (method: string, headers: Record<string, string>, body?: unknown) =>
      hub.call(method, "/jobs", { headers: { Cookie, ...headers }, body } as CallOptions);
    const job = { type, run: { kind: "exec", argv: ["true"] } };
    expect((await call("GET", {})).status).toBe(200);
    const before = snapshot(hub.home);
    const elsewhere: Record<string, string>[] = [
      {},
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { Origin: `http://127.0.0.1.evil.example:${hub.port}` },
      { Origin: `http://127.0.0.1:${hub.port + 1}` },
      { Origin: "http://127.0.0.1" },
      { "Sec-Fetch-Site": "cross-site" },
      { "Sec-Fetch-Site": "same-site" },
      { Host: `evil.example:${hub.port}`, Origin: `http://evil.example:${hub.port}` },
    ];
    for (const headers of elsewhere) {
      const answer = await call("POST", headers, job);
      expect(answer, JSON.stringify(headers)).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    }
    expect((await call("GET", { Host: `rebound.example:${hub.port}` })).status).toBe(403);
    expect((await call("GET", { Origin: "https://evil.example" })).status).toBe(403);
    expect(snapshot(hub.home)).toBe(before);
    expect((await call("POST", { Origin: own }, job)).status).toBe(201);
    expect((await call("POST", { "Sec-Fetch-Site": "same-origin" }, job)).status).toBe(201);
    const denied = readEvents(hub.home).filter(({ event }) => event === "PERMISSION_DENIED");
    expect(denied.at(-1)).toMatchObject({ origin: { endpoint: "/jobs" } });
  });

  test("O-36 is not given to the page of another site, nor for a body in another charset", async () => {
    const before = snapshot(hub.home);
    const body = { token: tokens.alice };
    const from = (headers: Record<string, string>) => hub.call("POST", "/session", { body, headers });
    const own = `http://127.0.0.1:${hub.port}`;
    const foreign: Record<string, string>[] = [
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { Origin: "http://rebound.example", Host: "rebound.example" },
    ];
    for (const headers of foreign)
      expect(await from(headers)).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    for (const charset of ["utf-16", '"UTF-16LE"', "iso-8859-1"]) {
      const answer = await from({ "Content-Type": `application/json; charset=${charset}` });
      expect(answer).toMatchObject({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
    }
    expect(snapshot(hub.home)).toBe(before);
    expect((await from({ Origin: own })).status).toBe(200);
    expect((await from({ "Content-Type": 'application/json; Charset="UTF-8"' })).status).toBe(200);
  });

  test("is never asked for when a token is shown, and gives no access to other origins", async () => {
    const preflight = await hub.call("OPTIONS", "/jobs", { headers: { Origin: "https://evil.example" } });
    expect(preflight.headers["access-control-allow-origin"]).toBeUndefined();
    const headers = { Origin: "https://evil.example", Host: "rebound.example" };
    const answer = await hub.call("GET", "/jobs", { token: tokens.alice, headers });
    expect(answer.status).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("ends with the log-out", async () => {
    const Cookie = await logIn(tokens.alice);
    const headers = { Cookie, "Sec-Fetch-Site": "same-origin" };
    const answer = await hub.call("DELETE", "/session", { headers });
    expect(answer.status).toBe(204);
    expect(answer.headers["set-cookie"]![0]).toContain("Max-Age=0");
    expect((await hub.call("GET", "/session", { headers })).status).toBe(401);
  });

  test("O-31 a session that has ended says why", async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
    const later = await startMemoryHub(stillEnv, { clock });
    onTestFinished(() => later.stop());
    const open = async (token: string) => {
      const answer = await later.must("POST", "/session", { body: { token } });
      return answer.headers["set-cookie"]![0]!.split(";")[0]!;
    };
    const whyOf = async (Cookie: string) =>
      (await later.call("GET", "/session", { headers: { Cookie } })).text;
    const short = await issueToken(later, { role: "user", expires_in_sec: 3_600 });
    const revoked = await issueToken(later, { role: "user" });
    const [ofShort, ofRevoked, ofAdmin] = [
      await open(short.token),
      await open(revoked.token),
      await open(later.admin),
    ];
    await later.must("DELETE", `/tokens/${revoked.id}`, { token: later.admin });
    expect(await whyOf(ofRevoked)).toContain("was revoked or replaced");
    aheadMs = 3_600_001;
    expect(await whyOf(ofShort)).toContain("the token that it was opened with has expired");
    aheadMs = 12 * 3_600_000 + 1;
    expect(await whyOf(ofAdmin)).toContain("a session lasts 12 hours");
  });

  test("O-08 the next sign-in in the same browser ends it; a sign-in that fails does not", async () => {
    const Cookie = await logIn(tokens.alice);
    const from = "127.2.8.1";
    const isOpen = async () =>
      (await hub.call("GET", "/session", { headers: { Cookie }, from })).status === 200;
    const refused = await hub.call("POST", "/session", {
      headers: { Cookie },
      body: { token: "sk_no" },
      from,
    });
    expect([refused.status, await isOpen()]).toEqual([401, true]);
    await hub.must("POST", "/session", { headers: { Cookie }, body: { token: tokens.eve } });
    expect(await isOpen()).toBe(false);
  });

  test("hubs on one machine have cookies of their own, and a browser can be signed in to both", async () => {
    const other = await startMemoryHub(stillEnv);
    onTestFinished(() => other.stop());
    // A browser keeps one cookie of a name for all ports of a host.
    const jar = new Map<string, string>();
    const Cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const signIn = async ({ must }: Pick<typeof hub, "must">, token: string) => {
      const answer = await must("POST", "/session", { headers: { Cookie: Cookie() }, body: { token } });
      const [, name, value] = /^(\w+)=([^;]+)/.exec(answer.headers["set-cookie"]![0]!)!;
      jar.set(name!, value!);
    };
    await signIn(hub, tokens.alice);
    await signIn(other, other.admin);
    const headers = { Cookie: Cookie() };
    expect((await hub.must("GET", "/session", { headers })).json()).toMatchObject({ user_id: "alice" });
    expect((await other.must("GET", "/session", { headers })).json()).toMatchObject({ role: "admin" });
  });

  test("O-08 it ends too when the next token comes as a header", async () => {
    const Cookie = await logIn(tokens.alice);
    await hub.must("POST", "/session", { token: tokens.eve, headers: { Cookie }, body: {} });
    expect((await hub.call("GET", "/session", { headers: { Cookie } })).status).toBe(401);
  });

  test("O-08 a page that names another session than its cookie's is refused, and that is no failed login", async () => {
    const failed = () => readEvents(hub.home).filter(({ event }) => event === "LOGIN_FAILED").length;
    const idOf = async (Cookie: string) =>
      (await hub.must("GET", "/session", { headers: { Cookie } })).json<{ session_id: string }>().session_id;
    const [alice, eve] = [await logIn(tokens.alice), await logIn(tokens.eve)];
    const [ofAlice, ofEve] = [await idOf(alice), await idOf(eve)];
    expect(ofAlice).toMatch(/^[0-9a-f]{32}$/);
    const before = failed();
    const type = freshName("replaced");
    const submit = (id: string) =>
      hub.call("POST", "/jobs", {
        headers: { Cookie: eve, "Writ-Session": id, "Sec-Fetch-Site": "same-origin" },
        body: { type, run: { kind: "exec", argv: ["true"] } },
      });
    const refused = await submit(ofAlice);
    expect(refused).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
    expect(refused.json()).toMatchObject({ error: { details: { session: "replaced" } } });
    expect(failed()).toBe(before);
    expect((await submit(ofEve)).status).toBe(201);
    const byToken = await hub.must("GET", "/session", { token: tokens.alice });
    expect(byToken.text).not.toContain("session_id");
  });
});

describe("limits", () => {
  test("twenty failed logins from one address pass, then it has to wait; others do not", async () => {
    const from = "127.2.0.1";
    const statuses: number[] = [];
    // Each three seconds allow one more, so there are enough of them for a slow machine too.
    for (let index = 0; index < 40; index++) statuses.push((await hub.call("GET", "/jobs", { from })).status);
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
    expect(statuses).toContain(429);
    const waits = await hub.call("GET", "/jobs", { from, token: "sk_user_wrong" });
    if (waits.status === 429) expect(Number(waits.headers["retry-after"])).toBeGreaterThan(0);
    expect((await hub.call("GET", "/jobs", { from: "127.2.0.2" })).status).toBe(401);
    expect((await hub.call("GET", "/jobs", { from, token: tokens.alice })).status).toBe(200);
    const hits = readEvents(hub.home).filter(
      ({ event, origin }) => event === "RATE_LIMIT_HIT" && origin?.ipAddress === from,
    );
    expect(hits).toHaveLength(1);
  });

  test("A12: a tenant whose jobs wait in too many queues is told what a queue is", async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "many" });
    await hub.must("PUT", "/tenants/many/quota", { token: hub.admin, body: { max_queues: 1 } });
    const submit = (type: string) => hub.call("POST", "/jobs", { token, body: { type } });
    expect((await submit("a")).status).toBe(201);
    expect((await submit("a")).status).toBe(201);
    const refused = await submit("b");
    expect(refused).toMatchObject({ status: 429, code: "QUOTA_EXCEEDED" });
    expect(refused.text).toContain("pending jobs in 1 of 1 allowed queues, one for each combination of type");
  });

  test("a tenant at its limit of pending jobs is refused, except for what it has submitted before", async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "small" });
    await hub.must("PUT", "/tenants/small/quota", { token: hub.admin, body: { max_pending: 2 } });
    const job = { type: "exec", run: { kind: "exec", argv: ["true"] } };
    const first = { ...job, idempotency_key: "first" };
    const submit = (body: unknown, path = "/jobs") => hub.call("POST", path, { token, body });
    expect((await submit(first)).status).toBe(201);
    const before = snapshot(hub.home);
    expect(await submit({ jobs: [job, job] }, "/jobs/batch")).toMatchObject({
      status: 429,
      code: "QUOTA_EXCEEDED",
    });
    expect(snapshot(hub.home)).toBe(before);
    expect((await submit(job)).status).toBe(201);
    const refused = await submit(job);
    expect(refused).toMatchObject({ status: 429, code: "QUOTA_EXCEEDED" });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await submit(first)).status).toBe(200);
    expect(
      readEvents(hub.home).some(({ event, tenant_id: id }) => event === "QUOTA_EXCEEDED" && id === "small"),
    ).toBe(true);
  });

  test("a tenant that submits too fast has to wait", async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "hasty" });
    await hub.must("PUT", "/tenants/hasty/quota", { token: hub.admin, body: { submits_per_sec: 2 } });
    const jobs = Array(50).fill({ type: "exec", run: { kind: "exec", argv: ["true"] } });
    const submit = () => hub.call("POST", "/jobs/batch", { token, body: { jobs } });
    expect((await submit()).status).toBe(201);
    const refused = await submit();
    expect(refused).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await submitJob(hub, { token: tokens.eve })).id).toBeDefined();
  });

  test("a tenant at its limit of running jobs waits until one has ended", async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "narrow" });
    await hub.must("PUT", "/tenants/narrow/quota", { token: hub.admin, body: { max_running: 1 } });
    const held = await runningJob(hub, { token });
    const { id } = await submitJob(hub, { token, type: held.type });
    const claim = (waitMs: number) =>
      hub.call("POST", "/jobs/claim", {
        token: tokens.worker,
        body: { worker_id: held.fence.worker_id, types: [held.type], wait_ms: waitMs },
      });
    expect((await claim(0)).status).toBe(204);
    const waiting = claim(30_000);
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: 1 },
    });
    expect((await waiting).json<{ id: string }>().id).toBe(id);
    expect((await hub.must("GET", "/tenants/narrow/quota", { token: hub.admin })).json()).toEqual({
      max_running: 1,
    });
  });
});

type TokenRow = { id: string; tenant_id: string | null; created_at: number; expires_at: number | null };

/** Addresses of this machine to fail from, so that no test uses up the patience that another one needs. */
function addresses(net: number): () => string {
  let used = 0;
  return () => `127.${net}.${used >> 8}.${used++ & 255}`;
}

async function logIn(token: string): Promise<string> {
  const answer = await hub.must("POST", "/session", { body: { token } });
  return answer.headers["set-cookie"]![0]!.split(";")[0]!;
}

test("asking who is signed in, without a token and a cookie, is refused and is no failed login", async () => {
  const failed = () => readEvents(hub.home).filter(({ event }) => event === "LOGIN_FAILED").length;
  const before = failed();
  for (let time = 0; time < 25; time++) expect((await hub.call("GET", "/session")).status).toBe(401);
  expect(failed()).toBe(before);
  expect((await hub.call("GET", "/jobs")).status).toBe(401);
  expect(failed()).toBe(before + 1);
});
