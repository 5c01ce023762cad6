import { beforeAll, describe, expect, test } from "vitest";
import { bodyBytes } from "../../src/contract/routes/route.ts";
import { keysMaxOf } from "../../src/hub/http/bodies/read-body.ts";
import { type Answer, errorOf } from "../support/call-http.ts";
import { snapshot } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";
import { type Example, examples, type World } from "./route-examples.ts";
import { routeNames, routeOf, send } from "./send-example.ts";
import { topFieldsOf, withUnknownFields, wrongBodies } from "./wrong-bodies.ts";

const hub = memoryHubForAll(stillEnv);
const world: World = { hub, tokens: tokensOf(hub) };

const withJson = routeNames.filter((name) => routeOf(name).body !== undefined);

/** What a worker tells about itself may come from a version that is newer than the hub. */
const ofNewerWorkers: readonly string[] = [
  "registerWorker",
  "heartbeatWorker",
  "saveWorkerMetrics",
  "refuseClaim",
];

test.each(withJson.filter((name) => ofNewerWorkers.includes(name)))(
  "%s ignores an unknown field",
  async (name) => {
    const example = await examples[name](world);
    const body = { ...(example.body as object), surprise: { of: "a newer worker" } };
    expect((await send(hub, name, { ...example, body })).status).toBeLessThan(300);
  },
);

describe.each(withJson)("the body of %s", (name) => {
  const route = routeOf(name);
  const shape = route.body!;
  let example: Example;

  beforeAll(async () => {
    example = await examples[name](world);
  });

  const refuse = (body: unknown, headers?: Record<string, string>) =>
    refusedCall(name, example, { body, headers });

  test("is tried with every field that it can have", () => {
    const never = [
      "max_runtime_ms",
      "delay_ms",
      "solver_url",
      "solver_checksum",
      "provider",
      "model",
      "repo_root",
    ];
    // A bulk change has either ids or a filter, a login either a token or a code, a command either its input or its place, a
    // schedule either cron or an interval.
    const exempt = [...never, "allowed_paths", "job_id", "filter", "code", "stdin", "every_sec"];
    const unused = topFieldsOf(shape).filter((field) => !(field in (example.body as object)));
    expect(unused.filter((field) => !exempt.includes(field))).toEqual([]);
  });

  test("must be JSON, in UTF-8, whole, and nothing else", async () => {
    const text = JSON.stringify(example.body);
    const notJson = [
      "{",
      text.slice(0, -1),
      `${text}x`,
      `${text}{}`,
      `\ufeff${text}`,
      "{'a':1}",
      "{a:1}",
      "[1,]",
    ];
    const notNumbers = ['{"a":NaN}', '{"a":01}', '{"a":9007199254740993}', '{"a":1e999}', '{"a":"\\ud800"}'];
    for (const body of [...notJson, ...notNumbers, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]) {
      expect(await refuse(body), String(body).slice(0, 100)).toMatchObject({
        status: 400,
        code: "INVALID_JSON",
      });
    }
  });

  test("has each key once", async () => {
    expect(await refuse('{"a":1,"a":1}')).toMatchObject({ status: 400, code: "DUPLICATE_KEY" });
    expect(await refuse('{"x":[{"\\u0061":1,"a":1}]}')).toMatchObject({ status: 400, code: "DUPLICATE_KEY" });
  });

  test("reaches no prototype", async () => {
    for (const body of [
      '{"__proto__":{"x":1}}',
      '{"a":{"__proto__":null}}',
      '{"constructor":{"prototype":{"x":1}}}',
    ]) {
      expect((await refuse(body)).status, body).toBe(400);
    }
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test("is at most 64 levels deep", async () => {
    for (const depth of [65, 200_000]) {
      const list = `${"[".repeat(depth)}${"]".repeat(depth)}`;
      const object = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
      expect(await refuse(list), `${depth} lists`).toMatchObject({ status: 400, code: "TOO_DEEP" });
      // A million characters of objects would be refused for their size before anybody counts levels.
      if (depth < 1000) expect(await refuse(object)).toMatchObject({ status: 400, code: "TOO_DEEP" });
    }
    expect((await refuse(`${"[".repeat(64)}${"]".repeat(64)}`)).code).toBe("INVALID_ARGUMENT");
  });

  test("is an object", async () => {
    for (const body of ["null", "1", '"text"', "[]", "true"]) {
      expect(await refuse(body), body).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    }
  });

  if (!ofNewerWorkers.includes(name)) {
    test("has no unknown field", async () => {
      const bodies = withUnknownFields(shape, example.body);
      expect(bodies).not.toEqual([]);
      for (const { path, body } of bodies) expect(pathsOf(await refuse(body)), path).toContain(path);
    });
  }

  test("has no field of another type, and the refusal names the field", async () => {
    for (const { path, what, body } of wrongBodies(shape, example.body)) {
      const answer = await refuse(body);
      expect(answer, `${path} = ${what}: ${answer.text}`).toMatchObject({
        status: 400,
        code: "INVALID_ARGUMENT",
      });
      expect(
        pathsOf(answer).some((named) => isAbout(named, path, what)),
        `${path} = ${what}: ${answer.text}`,
      ).toBe(true);
    }
  });

  test("is sent as JSON and not compressed", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]) {
      const answer = await refuse(example.body, { "Content-Type": type });
      expect(answer, type).toMatchObject({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
    }
    const answer = await refuse(example.body, { "Content-Encoding": "gzip" });
    expect(answer).toMatchObject({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
  });
});

const withBody = routeNames.filter(
  (name) => routeOf(name).body !== undefined || routeOf(name).bodyKind === "bytes",
);

test.each(withBody)("%s takes not one byte more than its limit, announced or not", async (name) => {
  const example = await examples[name](world);
  const bytesMax = routeOf(name).bodyBytesMax ?? bodyBytes.ordinary;
  const text = typeof example.body === "string" ? example.body : JSON.stringify(example.body);
  const body = Buffer.alloc(bytesMax + 1, " ");
  body.write(text);
  expect(await refusedCall(name, example, { body })).toMatchObject({ status: 413, code: "TOO_LARGE" });
  expect(await refusedCall(name, example, { body, chunked: true })).toMatchObject({ status: 413 });
});

const delegate = { run: { kind: "delegate", agent: "a", prompt: "p" }, provider: "OLLAMA", model: "m" };

test("a model and a prompt are a delegate job", async () => {
  const body = {
    provider: "OLLAMA",
    model: "m",
    execution_location: "CLOUD",
    metadata: { input: "Mend it." },
  };
  const answer = await hub.must("POST", "/jobs", { token: hub.admin, body });
  const job = await hub.must("GET", `/jobs/${answer.json<{ id: string }>().id}`, { token: hub.admin });
  expect(job.json()).toMatchObject({
    type: "delegate",
    run: { kind: "delegate", agent: "default", prompt: "Mend it." },
  });
  for (const metadata of [undefined, {}, { input: "" }, { input: 1 }]) {
    const refused = await hub.call("POST", "/jobs", { token: hub.admin, body: { ...body, metadata } });
    expect(refused.status).toBe(400);
    expect(errorOf(refused.text).message).toContain("metadata.input: must be the prompt");
  }
  const local = await hub.call("POST", "/jobs", {
    token: hub.admin,
    body: { ...body, execution_location: "LOCAL_MACHINE" },
  });
  expect(errorOf(local.text).message).toBe("repo_root: is required for delegate jobs at LOCAL_MACHINE");
});

test("B11: a delegate in the cloud needs no repo_root, one on a local machine does", async () => {
  const submit = (fields: object) =>
    hub.call("POST", "/jobs", {
      token: world.tokens.alice,
      body: { type: "delegate", ...delegate, ...fields },
    });
  expect((await submit({ execution_location: "CLOUD" })).status).toBe(201);
  expect((await submit({ repo_root: "/srv/app", allowed_paths: ["src"] })).status).toBe(201);
  const refused = await submit({});
  expect(refused).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(errorOf(refused.text).message).toBe("repo_root: is required for delegate jobs at LOCAL_MACHINE");
  expect(pathsOf(refused)).toEqual(["repo_root", "allowed_paths"]);
});

test.each([
  ["timeout_sec", [-1, 1.5, "600", 604_801, null]],
  ["priority", [-1, 11, 5.5, "5"]],
  ["max_attempts", [0, 101]],
  ["retry", [3, "twice", []]],
  ["lanes", [{}, "stripe", []]],
  ["delay_ms", [-1, 0.5, 1e12]],
  ["run_at", [-1, 8_640_000_000_000_001, 2 ** 53]],
  ["type", ["", "a b", "a/b", "a".repeat(101), "é"]],
])("a job with a bad %s is refused", async (field, values) => {
  const example = await examples.submitJob(world);
  for (const value of values) {
    const answer = await refusedCall("submitJob", example, {
      body: { ...(example.body as object), [field]: value },
    });
    expect(answer.status, `${field} = ${value}`).toBe(400);
    if (answer.code === "INVALID_ARGUMENT") expect(pathsOf(answer)).toContain(field);
  }
});

test.each([
  ["both times", { timeout_sec: 1, max_runtime_ms: 1000 }, "max_runtime_ms"],
  ["no end, when it is no exec job", { run: { kind: "handler" }, timeout_sec: 0 }, "timeout_sec"],
  [
    "more than an hour, when it is no exec job",
    { run: { kind: "handler" }, timeout_sec: 3601 },
    "timeout_sec",
  ],
  ["a solver without a checksum", { run: undefined, solver_url: "https://x/y" }, "solver_checksum"],
  ["a checksum without a solver", { solver_checksum: "a".repeat(64) }, "solver_checksum"],
  ["run and a solver", { solver_url: "https://x/y", solver_checksum: "a".repeat(64) }, "solver_url"],
  ["params twice", { run: { kind: "handler", params: 1 }, params: 2 }, "params"],
  ["a model that no delegate asks for", { model: "m" }, "model"],
  ["a delegate without a model", { run: { kind: "delegate", agent: "a", prompt: "p" } }, "model"],
  ["a local delegate without repo_root (B11)", { ...delegate, allowed_paths: ["src"] }, "repo_root"],
  ["a local delegate without allowed_paths (B11)", { ...delegate, repo_root: "/srv/app" }, "allowed_paths"],
  ["an unknown kind", { run: { kind: "shell", command: "x" } }, "run.kind"],
  ["an environment of ours", { run: { kind: "exec", argv: ["a"], env: { JOB_ID: "x" } } }, "run.env"],
  ["a NUL in an argument", { run: { kind: "exec", argv: ["a\0b"] } }, "run.argv[0]"],
  ["an argument over 128 KiB", { run: { kind: "exec", argv: ["a".repeat(131_072)] } }, "run.argv[0]"],
  ["a path that climbs", { output_location: { folder_id: "f", prefix: "../x" } }, "output_location.prefix"],
  ["an empty prefix", { output_location: { folder_id: "f", prefix: "" } }, "output_location.prefix"],
  [
    "a prefix to be unescaped",
    { output_location: { folder_id: "f", prefix: "%2e" } },
    "output_location.prefix",
  ],
  ["a folder that is another", { output_location: { folder_id: ".." } }, "output_location.folder_id"],
  ["a policy for no output", { storage_access_policy: [right()] }, "storage_access_policy"],
  ["a policy of nothing", withPolicy([]), "storage_access_policy"],
  ["too many rights", withPolicy(Array(33).fill(right())), "storage_access_policy"],
  [
    "rights that no header can hold",
    withPolicy(Array(5).fill(right({ prefix: `${"a".repeat(250)}/`.repeat(2) }))),
    "storage_access_policy",
  ],
  ["an unknown method", withPolicy([right({ method: "POST" })]), "storage_access_policy[0].method"],
  [
    "a right to another folder",
    withPolicy([right(), right({ folderId: "../f" })]),
    "storage_access_policy[1].folderId",
  ],
  ["a right that climbs", withPolicy([right({ prefix: "a/../../b" })]), "storage_access_policy[0].prefix"],
  [
    "an input that no argument can hold",
    { run: { kind: "exec_per_job", worker_command: ["w"], job_input: "x".repeat(93_000) } },
    "run.job_input",
  ],
  ["fields that only the hub sets", { tenant_id: "globex", status: "completed", attempts: 0 }, "tenant_id"],
  ["a signature", { signature: "base64:x" }, "signature"],
])("a job with %s is refused", async (_, fields, path) => {
  const body = { type: "some.type", run: { kind: "exec", argv: ["true"] }, ...fields };
  const answer = await refusedCall("submitJob", { token: world.tokens.alice }, { body });
  expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(pathsOf(answer)).toContain(path);
});

function right(fields: Record<string, string> = {}) {
  return { folderId: "f", prefix: "a", method: "PUT", ...fields };
}

function withPolicy(rights: unknown[]) {
  return { output_location: { folder_id: "f" }, storage_access_policy: rights };
}

async function refusedCall(
  name: (typeof routeNames)[number],
  example: Example,
  change: { body: unknown; headers?: Record<string, string>; chunked?: boolean },
): Promise<Answer> {
  const before = snapshot(world.hub.home);
  const headers = { ...example.headers, ...change.headers };
  const answer = await send(world.hub, name, example, { ...change, headers });
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
  expect(snapshot(world.hub.home), `it was refused with ${answer.status} and changed something`).toBe(before);
  return answer;
}

function pathsOf(answer: Answer): string[] {
  return errorOf(answer.text).details?.issues?.map((issue) => issue.path) ?? [];
}

/**
 * A fault may be named at the field, inside it, or at the whole that it makes impossible; of a field that is left
 * out, at the neighbours that need it.
 */
function isAbout(named: string, path: string, what: string): boolean {
  const isNeighbour = named.replace(/\w+$/, "") === path.replace(/\w+$/, "");
  return path.startsWith(named) || named.startsWith(path) || (what === "nothing" && isNeighbour);
}

test("O-35 a body of many keys is refused before anything is done with them", async () => {
  const keysMax = keysMaxOf(bodyBytes.ordinary);
  const withKeys = (count: number) => {
    const keys = Array.from({ length: count - 2 }, (_, index) => `"${index.toString(36)}":1`);
    return `{"type":"x","params":{${keys.join(",")}}}`;
  };
  const submit = (body: string) => hub.call("POST", "/jobs", { token: world.tokens.alice, body });
  const refused = await submit(withKeys(keysMax + 1));
  expect(refused).toMatchObject({ status: 413, code: "TOO_LARGE" });
  expect(refused.text).toContain(`more than ${keysMax} keys`);
  expect((await submit(withKeys(keysMax))).status).toBe(201);
});

test("O-35 a body of many unknown fields is refused with a few of them", async () => {
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, 1]));
  const answer = await hub.call("POST", "/jobs", {
    token: world.tokens.alice,
    body: { type: "x", ...fields },
  });
  expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(answer.text.length).toBeLessThan(10_000);
});
