import { beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/contract/routes/routes.ts";
import { type Role, roles } from "../../src/core/identity.ts";
import { type Answer, errorOf } from "../support/call-http.ts";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { issueToken, type TokenWish } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";
import { asWorker, jobIdIn, withFence, withJob } from "./change-example.ts";
import { type Example, examples, type World } from "./route-examples.ts";
import { routeNames, routeOf, send, statusOf } from "./send-example.ts";

const unknownJob = "01890000-0000-7000-8000-000000000000";

/** A test that this route needs; for others it does not exist, rather than being skipped. */
const testIf = (isNeeded: boolean) => (isNeeded ? test : () => {});

/** Several, in turns: a hub records 600 failed logins in a minute, and a fast machine makes more of them here. */
const worlds = Array.from({ length: 3 }, (): World => {
  const hub = memoryHubForAll(stillEnv);
  return { hub, tokens: tokensOf(hub) };
});
let world = worlds[0]!;
let addresses = 0;

/** Of one caller only the first few refusals in a minute have records of their own. */
async function newcomer(role: Role, rest: Omit<TokenWish, "role"> = {}): Promise<string> {
  return (await issueToken(world.hub, { role, ...rest })).token;
}

test("every route of the contract has an example here", () => {
  expect(Object.keys(examples).sort()).toEqual(Object.keys(routes).sort());
});

describe.each([...routeNames.entries()])("%i %s", (index, name) => {
  const route = routeOf(name);
  let example: Example;

  beforeAll(async () => {
    world = worlds[index % worlds.length]!;
    example = await examples[name](world);
  });

  testIf(!isSigned(name))("refuses a caller without a valid token, and the log tells of it", async () => {
    const anonymous = route.who === "open" ? { body: {} } : {};
    const strangers = [
      { token: null },
      { token: "sk_user_nobody" },
      { token: null, query: { ...example.query, access_token: world.hub.admin } },
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: `Basic ${Buffer.from(`root:${world.hub.admin}`).toString("base64")}` },
      { authorization: [`Bearer ${world.hub.admin}`, `Bearer ${world.hub.admin}`] },
      { authorization: `Bearer ${world.hub.admin} x` },
    ];
    for (const stranger of strangers) {
      const change = { ...anonymous, ...stranger, from: freshAddress() };
      const { answer, events } = await refusedCall(() => send(world.hub, name, example, change));
      expect(answer, JSON.stringify(stranger)).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
      // A page asks who is signed in before anybody is.
      const isQuestion = name === "getSession" && "token" in stranger && stranger.token === null;
      const failed = { event: "LOGIN_FAILED", origin: { endpoint: route.path, method: route.method } };
      expect(events).toMatchObject(isQuestion ? [] : [failed]);
    }
  });

  testIf(isSigned(name))("refuses a URL that was changed, and the log tells of it", async () => {
    const [text, mac] = example.params!["ticket"]!.split(".") as [string, string];
    const other = mac.startsWith("A") ? "B" : "A";
    for (const ticket of [`${text}A.${mac}`, `${text}.${other}${mac.slice(1)}`, `e30.${mac}`]) {
      const change = { params: { ticket }, from: freshAddress() };
      const { answer, events } = await refusedCall(() => send(world.hub, name, example, change));
      expect(answer, ticket).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
      expect(events).toMatchObject([{ event: "PERMISSION_DENIED", origin: { endpoint: route.path } }]);
    }
  });

  const needsRole = route.who !== "open" && !isSigned(name);
  testIf(needsRole)("refuses every role that it is not for, and the log tells of it", async () => {
    const tokens = {
      user: await newcomer("user"),
      worker: await newcomer("worker"),
      viewer: await newcomer("viewer"),
    };
    const others = roles.filter((role) => role !== "admin" && !route.who.includes(role as never));
    for (const role of others as (keyof typeof tokens)[]) {
      const { answer, events } = await refusedCall(() =>
        send(world.hub, name, example, { token: tokens[role] }),
      );
      expect(answer, role).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
      expect(events).toMatchObject([{ event: "PERMISSION_DENIED", details: { role } }]);
    }
  });

  test("refuses other methods", async () => {
    for (const method of ["PATCH", "TRACE", "OPTIONS", "PROPFIND"]) {
      const { answer } = await refusedCall(() => send(world.hub, name, example, { method, body: undefined }));
      expect(answer, method).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
      expect(answer.headers.allow?.split(", ")).toContain(route.method);
    }
  });

  testIf(route.params !== undefined)("names the part of the path that is wrong", async () => {
    for (const [param, valid] of Object.entries(example.params!)) {
      const wrong = wrongPathParts.filter(
        (value) => !route.params!.safeParse({ ...example.params, [param]: value }).success,
      );
      expect(wrong, `${param} takes everything`).not.toEqual([]);
      for (const value of wrong) {
        const params = { ...example.params, [param]: value };
        const { answer } = await refusedCall(() => send(world.hub, name, example, { params }));
        expectIssue(answer, param, `${param}=${value} instead of ${valid}`);
      }
    }
  });

  testIf(route.query !== undefined)("names the part of the query that is wrong", async () => {
    const unknown = ["surprise", "__proto__", "constructor", "toString"];
    for (const field of unknown) {
      const query = Object.fromEntries([...Object.entries(example.query!), [field, "1"]]);
      const { answer } = await refusedCall(() => send(world.hub, name, example, { query }));
      expectIssue(answer, field, field);
    }
    for (const field of Object.keys(example.query!)) {
      const wrong = wrongQueryValues.filter(
        (value) => !route.query!.safeParse({ ...example.query, [field]: value }).success,
      );
      expect(wrong, `${field} takes everything`).not.toEqual([]);
      for (const value of wrong) {
        const query = { ...example.query, [field]: value };
        const { answer } = await refusedCall(() => send(world.hub, name, example, { query }));
        expectIssue(answer, field, `${field}=${value}`);
      }
    }
  });

  testIf(isAboutAJob(name))("does not know a job that is not there", async () => {
    const { answer } = await refusedCall(() => send(world.hub, name, example, withJob(example, unknownJob)));
    expect(answer).toMatchObject({ status: 404, code: "NOT_FOUND" });
  });

  testIf(isAboutAJob(name))("hides another tenant's job as if it were not there", async () => {
    const { hub, tokens } = world;
    const workerId = await registerWorker(hub, { token: tokens.globexWorker });
    const spies = [
      { role: "user", tenant_id: "globex", user_id: "eve" },
      { role: "viewer", tenant_id: "globex" },
      { role: "admin", tenant_id: "globex" },
      { role: "worker", tenant_id: "globex" },
    ].filter(({ role }) => role === "admin" || route.who.includes(role as never));
    for (const { role, ...rest } of spies) {
      const spy = { token: await newcomer(role as Role, rest) };
      const own = routeTakesFence(name) ? asWorker(example, workerId) : {};
      const { answer: there, events } = await refusedCall(() => send(hub, name, example, { ...spy, ...own }));
      const notThere = await send(hub, name, example, { ...spy, ...own, ...withJob(example, unknownJob) });
      expect(there.status, `${role}: ${there.text}`).toBe(404);
      expect(alike(there, jobIdIn(example))).toEqual(alike(notThere, unknownJob));
      expect(events.map(({ event }) => event)).toContain("PERMISSION_DENIED");
      // A17: neither the trail of the one who asked nor the job's own timeline tells that it is there.
      const traces = events.filter(({ event }) => event === "PERMISSION_DENIED");
      expect(traces.map(({ job_id, details }) => [job_id, details["error"]])).toEqual(
        traces.map(() => [null, "the tenant has no such job"]),
      );
    }
  });

  testIf(isAboutAJob(name) && route.who.includes("user" as never))("forbids a colleague's job", async () => {
    const token = await newcomer("user", { tenant_id: "acme", user_id: "bob" });
    const { answer, events } = await refusedCall(() => send(world.hub, name, example, { token }));
    expect(answer).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    expect(events).toMatchObject([{ event: "PERMISSION_DENIED", job_id: jobIdIn(example) }]);
  });

  testIf(route.path.startsWith("/workers/:id") || route.path.startsWith("/tokens/:id"))(
    "does not know what is not there",
    async () => {
      const { answer } = await refusedCall(() =>
        send(world.hub, name, example, { params: { id: "nobody" } }),
      );
      expect(answer.status).toBe(404);
    },
  );

  testIf(actsForAWorker(name))("does not know a worker that is not registered", async () => {
    const change = asWorker(example, freshName("ghost"));
    const { answer } = await refusedCall(() => send(world.hub, name, example, change));
    expect(answer).toMatchObject({ status: 404, code: "WORKER_UNKNOWN" });
  });

  testIf(actsForAWorker(name) || name === "registerWorker")(
    "refuses a token that is bound to another worker, and the log tells of it",
    async () => {
      const tokenOf = () => newcomer("worker", { worker_id: "bound" });
      // The first such call blocks the worker; those after it change nothing.
      await send(world.hub, name, example, { token: await tokenOf() });
      const token = await tokenOf();
      const { answer, events } = await refusedCall(() => send(world.hub, name, example, { token }));
      expect(answer).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
      // Its worker is blocked for it, so its operator has to be told of a slip.
      expect(answer.text).toMatch(
        /so worker bound is blocked: set NODE_ID=bound, .* `writ workers unblock bound`/,
      );
      expect(events).toMatchObject([
        { event: "SECURITY_VIOLATION", details: { violation_type: "TOKEN_OUTSIDE_WORKER" } },
      ]);
    },
  );

  testIf(routeTakesFence(name))("refuses an attempt or a token that is not the present one", async () => {
    for (const stale of [{ attempt: 2 }, { token: "x".repeat(32) }, { attempt: 2, token: "x".repeat(32) }]) {
      const { answer } = await refusedCall(() => send(world.hub, name, example, withFence(example, stale)));
      expect(answer, JSON.stringify(stale)).toMatchObject({ status: 409, code: "LEASE_LOST" });
    }
    for (const field of ["attempt", "token"]) {
      const change = withFence(example, { [field]: undefined });
      const { answer } = await refusedCall(() => send(world.hub, name, example, change));
      expectIssue(answer, field, `without ${field}`);
    }
  });

  test("accepts the example itself", async () => {
    const status = await statusOf(world.hub, name, example);
    expect(Object.keys(route.answers).map(Number)).toContain(status);
    expect(status).toBeLessThan(400);
  });
});

const wrongPathParts = [
  "../x",
  "%2e%2e",
  "no such thing!",
  "01890000-0000-1000-8000-000000000000",
  "01890000-0000-7000-8000-00000000000A",
  "{01890000-0000-7000-8000-000000000000}",
  "' OR 1=1 --",
  "\0",
  "é".repeat(60),
  "a".repeat(300),
];
const wrongQueryValues = [
  "",
  "-1",
  "1.5",
  "9007199254740993",
  "1e3",
  "no such thing!",
  "' OR 1=1 --",
  "a".repeat(300),
];

/** Each failed login comes from an address of its own: this test is about tokens, not about the limit per address. */
function freshAddress(): string {
  addresses++;
  return `127.1.${addresses >> 8}.${addresses & 255}`;
}

/** Makes a call that must change nothing; gives the events that it left behind. */
async function refusedCall(call: () => Promise<Answer>) {
  const before = snapshot(world.hub.home);
  const seq = lastSeq(world.hub.home);
  const answer = await call();
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(snapshot(world.hub.home), `it was refused with ${answer.status} and changed something`).toBe(before);
  const events = readEvents(world.hub.home, seq).filter(({ event }) => !answers.includes(event));
  // Earlier refusals that were only counted are recorded when their minute is over.
  return { answer, events: events.filter(({ details }) => details["folded"] === undefined) };
}

/** What the hub adds to the log by itself after a security event, at a moment of its own. */
const answers = ["MONITORING_RAISED", "REQUEST_RECORDED", "WORKER_BLOCKED"];

function expectIssue(answer: Answer, path: string, what: string): void {
  expect(answer.status, `${what}: ${answer.text}`).toBe(400);
  expect(
    errorOf(answer.text).details?.issues?.map((issue) => issue.path),
    what,
  ).toContain(path);
}

/** A refusal without what is different in every answer. */
function alike(answer: Answer, jobId: string) {
  const { request_id: _, ...error } = errorOf(answer.text.replaceAll(jobId, "<id>"));
  const { date: __, ...headers } = answer.headers;
  return { status: answer.status, error, headers };
}

type Named = (typeof routeNames)[number];

/** Every holder of such a URL may use it: there is no caller to be refused. */
function isSigned(name: Named): boolean {
  return routeOf(name).who === "signed URL";
}

function isAboutAJob(name: Named): boolean {
  return routeOf(name).path.startsWith("/jobs/:id") || name === "streamEvents";
}

function routeTakesFence(name: Named): boolean {
  const { path, who, method } = routeOf(name);
  return path.startsWith("/jobs/:id") && who.includes("worker" as never) && method === "POST";
}

function actsForAWorker(name: Named): boolean {
  return (
    routeOf(name).who.includes("worker" as never) &&
    routeOf(name).path !== "/workers/register" &&
    !isForAll(name)
  );
}

/** Routes for every role say nothing about workers. */
function isForAll(name: Named): boolean {
  return routeOf(name).who.length > 1 || name === "removeWorker";
}
