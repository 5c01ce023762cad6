import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HookView } from "../../src/hub/views/hook-view.ts";
import { errorOf } from "../support/call-http.ts";
import { freshName } from "../support/jobs.ts";
import { ScheduleHub } from "../support/schedules/schedule-hub.ts";
import { issueToken } from "../support/tokens.ts";

let at: ScheduleHub;
beforeAll(async () => {
  at = await ScheduleHub.start("2026-03-01T00:02:30Z");
});
afterAll(() => at.hub.stop());

type Owner = Awaited<ReturnType<ScheduleHub["newOwner"]>>;
type Made = Owner & { name: string; secret: string };

const job = { type: "build", run: { kind: "exec", argv: ["make"], env: { A: "1" } } };
/** As GitHub sends it. */
const push = JSON.stringify({
  ref: "refs/heads/main",
  after: "0".repeat(40),
  repository: { full_name: "a/b" },
});

async function makeHook(body: object = {}): Promise<Made> {
  const owner = await at.newOwner();
  const name = freshName("hook");
  const whole = { job, verify: "github", ...body };
  const made = await at.hub.must("PUT", `/hooks/${name}`, { token: owner.token, body: whole });
  return { ...owner, name, secret: made.json<HookView>().secret! };
}

const hex = (secret: string, text: string): string => createHmac("sha256", secret).update(text).digest("hex");

function fromGithub(hook: Made, text: string, headers: Record<string, string> = {}) {
  const own = { "x-github-event": "push", "x-github-delivery": freshName("delivery") };
  const signed = { "x-hub-signature-256": `sha256=${hex(hook.secret, text)}` };
  return post(hook, text, { ...own, ...signed, ...headers });
}

function standard(hook: Made, text: string, { id = freshName("msg"), sentAt = at.nowMs / 1_000 } = {}) {
  const key = Buffer.from(hook.secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${sentAt}.${text}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(sentAt),
    "webhook-signature": `v1,AAAA v1,${mac}`,
  };
  return post(hook, text, headers);
}

function post(
  { tenant, name }: Pick<Made, "tenant" | "name">,
  text: string,
  headers: Record<string, string>,
) {
  const type = { "content-type": "application/json" };
  return at.hub.call("POST", `/hooks/${tenant}/${name}`, {
    body: Buffer.from(text),
    headers: { ...type, ...headers },
  });
}

describe("a hook is refused", () => {
  test.each([
    [{ verify: "gitlab" }, "verify"],
    [{ verify: { hmac_sha256_header: "a b" } }, "verify"],
    [{ tolerance_sec: 0 }, "tolerance_sec"],
    [{ job: { ...job, params: {} } }, "job: must have no input"],
    [
      { job: { type: "t", run: { kind: "exec_per_job", worker_command: ["a"], job_input: 1 } } },
      "job: must have no input",
    ],
    [{ job: { ...job, idempotency_key: "k" } }, "job.idempotency_key: is an unknown field"],
  ])("with %j", async (body, said) => {
    const { token } = await at.newOwner();
    const answer = await at.hub.call("PUT", "/hooks/h", { token, body: { job, verify: "github", ...body } });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(said)]);
  });

  test("to another user, and does not exist for another tenant", async () => {
    const { name, tenant } = await makeHook();
    const bob = (await issueToken(at.hub, { role: "user", tenant_id: tenant, user_id: "bob" })).token;
    const eve = (await at.newOwner()).token;
    for (const method of ["GET", "DELETE"] as const) {
      expect((await at.hub.call(method, `/hooks/${name}`, { token: bob })).status).toBe(403);
      expect((await at.hub.call(method, `/hooks/${name}`, { token: eve })).status).toBe(404);
    }
    expect((await at.hub.must("GET", "/hooks", { token: bob })).json()).toEqual([]);
  });

  test("beyond the quota of its tenant", async () => {
    const { tenant, token } = await makeHook();
    await at.hub.must("PUT", `/tenants/${tenant}/quota`, { token: at.hub.admin, body: { max_hooks: 1 } });
    const more = await at.hub.call("PUT", "/hooks/more", { token, body: { job, verify: "github" } });
    expect([more.status, errorOf(more.text).code]).toEqual([429, "QUOTA_EXCEEDED"]);
  });
});

describe("a delivery is refused", () => {
  test("without a signature, with a wrong one, and to a hook that does not exist: all alike, as a failed login", async () => {
    const hook = await makeHook();
    const wrong = [
      await post(hook, push, {}),
      await fromGithub(hook, push, { "x-hub-signature-256": `sha256=${hex("other", push)}` }),
      await fromGithub(hook, push, { "x-hub-signature-256": hex(hook.secret, push) }),
      await fromGithub({ ...hook, name: "none" }, push),
      await fromGithub({ ...hook, tenant: "no_tenant" }, push),
    ];
    const answers = wrong.map(({ status, text }) => [status, errorOf(text).message]);
    const alike = [401, "there is no such hook, or the signature is wrong"];
    expect(answers).toEqual(wrong.map(() => alike));
    const failed = await at.deps.store.readEvents({ afterSeq: 0, limit: 1_000, kinds: ["LOGIN_FAILED"] });
    expect(
      failed.map(({ details }) => String(details["error"])).filter((text) => text.includes(hook.name)),
    ).toHaveLength(4);
  });

  test("whose body was changed, or whose time is not within the tolerance", async () => {
    const hook = await makeHook({ verify: "standard-webhooks", tolerance_sec: 60 });
    const now = at.nowMs / 1_000;
    expect((await standard(hook, push, { sentAt: now - 61 })).status).toBe(401);
    expect((await standard(hook, push, { sentAt: now + 61 })).status).toBe(401);
    const github = await makeHook();
    const signature = { "x-hub-signature-256": `sha256=${hex(github.secret, push)}` };
    expect((await fromGithub(github, `${push} `, signature)).status).toBe(401);
  });

  test("that is no JSON, or too large", async () => {
    const hook = await makeHook();
    const text = await fromGithub(hook, "payload=%7B%7D");
    expect([text.status, text.text]).toEqual([400, expect.stringContaining("body: must be JSON")]);
    expect((await fromGithub(hook, `"${"x".repeat(256 * 1024)}"`)).status).toBe(413);
  });

  test("when the owner has no valid token any more", async () => {
    const hook = await makeHook();
    await at.hub.must("DELETE", `/tokens/${hook.tokenId}`, { token: at.hub.admin });
    const answer = await fromGithub(hook, push);
    expect([answer.status, errorOf(answer.text).code]).toEqual([403, "PERMISSION_DENIED"]);
  });

  test("beyond the pending jobs of the tenant", async () => {
    const hook = await makeHook();
    const quota = { token: at.hub.admin, body: { max_pending: 0 } };
    await at.hub.must("PUT", `/tenants/${hook.tenant}/quota`, quota);
    expect((await fromGithub(hook, push)).status).toBe(429);
  });

  test("beyond 20 a second", async () => {
    const hook = await makeHook();
    for (let count = 0; count < 20; count++) expect((await fromGithub(hook, `${count}`)).status).toBe(202);
    const more = await fromGithub(hook, "20");
    expect([more.status, errorOf(more.text).code]).toEqual([429, "RATE_LIMITED"]);
  });

  test("to a hook whose row was edited, which is reported", async () => {
    const hook = await makeHook();
    const { store } = at.deps;
    const order = (await store.getOrder({ kind: "hook", tenantId: hook.tenant, name: hook.name }))!;
    const edited = { ...order, state: order.state.replace("make", "evil") };
    await store.putOrder({ order: edited, revisionBefore: order.revision, events: [], most: 99 });
    expect((await fromGithub(hook, push)).status).toBe(401);
    expect(await at.eventsOf(hook.tenant, "SECURITY_VIOLATION")).toMatchObject([
      { hook: hook.name, violation_type: "INVALID_SEAL" },
    ]);
  });
});

describe("a delivery", () => {
  test("makes a job of the owner, whose input is the body and nothing else", async () => {
    const hook = await makeHook();
    const answer = await fromGithub(hook, push);
    expect(answer.status).toBe(202);
    const { id } = answer.json<{ id: string }>();
    const made = (await at.hub.must("GET", `/jobs/${id}`, { token: hook.token })).json();
    const metadata = { hook: { name: hook.name } };
    expect(made).toMatchObject({ ...job, user_id: "ann", params: JSON.parse(push), metadata });
  });

  test("becomes the job_input of a kind that has one, and numbers stay as they were written", async () => {
    const run = { kind: "exec_per_job", worker_command: ["/bin/solve"] };
    const hook = await makeHook({ job: { type: "t", run }, verify: { hmac_sha256_header: "X-Sent-By" } });
    const text = '{"a":[1.50,true,null]}';
    for (const encoding of ["hex", "base64"] as const) {
      const mac = createHmac("sha256", hook.secret).update(text).digest(encoding);
      const { id } = (await post(hook, text, { "x-sent-by": mac })).json<{ id: string }>();
      const made = (await at.hub.must("GET", `/jobs/${id}`, { token: hook.token })).json();
      expect(made).toMatchObject({ run: { ...run, job_input: { a: [1.5, true, null] } } });
    }
  });

  test("that is repeated within the tolerance answers the first job, also across a border of time", async () => {
    const hook = await makeHook();
    const first = (await fromGithub(hook, push)).text;
    // Another number in a header that the signature does not cover makes no other job.
    expect((await fromGithub(hook, push)).text).toBe(first);
    at.pass(200_000);
    expect((await fromGithub(hook, push)).text).toBe(first);
    const other = (await fromGithub(hook, `${push}\n`)).text;
    expect(other).not.toBe(first);
    at.pass(300_000);
    expect((await fromGithub(hook, push)).text).not.toBe(first);
  });

  test("of Standard Webhooks is known by its id: retried later, or with another body, it makes no second job", async () => {
    const hook = await makeHook({ verify: "standard-webhooks" });
    const first = (await standard(hook, push, { id: "msg_1" })).text;
    at.pass(20_000);
    expect((await standard(hook, push, { id: "msg_1" })).text).toBe(first);
    expect((await standard(hook, "{}", { id: "msg_1" })).text).toBe(first);
    expect((await standard(hook, push, { id: "msg_2" })).text).not.toBe(first);
  });

  test("that arrives twice at the same time makes one job", async () => {
    const hook = await makeHook();
    const answers = await Promise.all([1, 2, 3, 4].map(() => fromGithub(hook, push)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

test("a hook shows its secret once, keeps it when it changes, and has another one when it is made anew", async () => {
  const hook = await makeHook();
  const put = (body: object = {}) =>
    at.hub.must("PUT", `/hooks/${hook.name}`, {
      token: hook.token,
      body: { job, verify: "github", ...body },
    });
  const same = await put();
  expect([same.status, same.json<HookView>().secret]).toEqual([200, undefined]);
  expect((await put({ tolerance_sec: 60 })).json<HookView>().secret).toBe(undefined);
  expect((await fromGithub(hook, push)).status).toBe(202);
  await at.hub.must("DELETE", `/hooks/${hook.name}`, { token: hook.token });
  expect((await fromGithub(hook, push)).status).toBe(401);
  expect((await put()).json<HookView>().secret).toMatch(/^whsec_/);
  expect((await fromGithub(hook, push)).status).toBe(401);
  const acts = await at.eventsOf(hook.tenant, "HOOK_CHANGED");
  expect(acts.map(({ act }) => act)).toEqual(["created", "changed", "removed", "created"]);
});
