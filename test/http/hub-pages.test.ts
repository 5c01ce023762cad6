import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Route } from "../../src/contract/route.ts";
import { routes } from "../../src/contract/routes.ts";
import { claimedJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll();
const tokens = tokensOf(hub);

test("health is open, with and without /api", async () => {
  for (const path of ["//healthz", "//readyz", "//api/healthz", "//api/v1/readyz"]) {
    const answer = await hub.call("GET", path);
    expect(answer.status, path).toBe(200);
    expect(answer.json()).toMatchObject({
      status: "ok",
      version: "0.0.0-test",
      schema_version: expect.any(Number),
    });
  }
});

test("metrics are for viewers and administrators, in the text that Prometheus reads", async () => {
  await claimedJob(hub);
  expect((await hub.call("GET", "//metrics", { from: "127.4.0.1" })).status).toBe(401);
  expect((await hub.call("GET", "//metrics", { token: tokens.alice })).status).toBe(403);
  expect((await hub.call("GET", "//metrics", { token: tokens.worker })).status).toBe(403);
  for (const path of ["//metrics", "//api/metrics", "//api/v1/metrics"]) {
    const answer = await hub.call("GET", path, { token: tokens.viewer });
    expect(answer.headers["content-type"]).toMatch(/^text\/plain/);
    expect(answer.text).toMatch(/^writ_jobs\{status="assigned"\} 1$/m);
    expect(answer.text).toMatch(/^writ_jobs_claimed_total 1$/m);
    expect(answer.text).toMatch(
      /^# TYPE writ_http_request_seconds histogram$|^# TYPE \w*request\w* histogram$/m,
    );
  }
});

test("the OpenAPI description has every route with its parameters, body, answers and who may call it", async () => {
  const answer = await hub.call("GET", "//api/openapi.json");
  const description = answer.json<OpenApi>();
  expect(description.openapi).toBe("3.1.0");
  const described = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  );
  const served = (Object.values(routes) as Route[]).map(({ method, path }) => `${method} ${path}`);
  expect(described.sort()).toEqual(served.sort());
  for (const [name, route] of Object.entries(routes) as [string, Route][]) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    const operation = description.paths[path]![route.method.toLowerCase()]!;
    expect(operation.operationId).toBe(name);
    const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map((one) => one.name);
    expect(inPath.sort()).toEqual([...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]).sort());
    expect(Object.keys(operation.responses).sort()).toEqual(
      [...Object.keys(route.answers), "default"].sort(),
    );
    expect(operation.requestBody !== undefined).toBe(route.body !== undefined || route.bodyKind === "bytes");
    expect(operation.security === undefined).toBe(route.who === "open");
  }
});

test("the reference page names every route and allows no script and no stranger on it", async () => {
  for (const path of ["//api/docs", "//api/v1/docs", "//"]) {
    const page = await hub.call("GET", path);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    const policy = page.headers["content-security-policy"] as string;
    for (const rule of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe|script-src|https?:/);
    const style = /<style>([\s\S]*?)<\/style>/.exec(page.text)![1]!;
    expect(policy).toContain(`'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(page.text).not.toMatch(/<script|\son\w+=|style="/i);
    expect(page.headers["x-content-type-options"]).toBe("nosniff");
  }
  const { text } = await hub.call("GET", "//api/docs");
  for (const name of Object.keys(routes)) expect(text).toContain(`id="${name}"`);
});

test("the public keys are for everybody with a token, and no private one is among them", async () => {
  const answer = await hub.call("GET", "/keys", { token: tokens.worker });
  expect(answer.json()).toMatchObject({ keys: [{ key_id: expect.stringMatching(/^[0-9a-f]{16}$/) }] });
  expect(answer.text).toContain("BEGIN PUBLIC KEY");
  expect(answer.text).not.toContain("PRIVATE");
});

test("what is not there is 404, however it is written", async () => {
  for (const path of [
    "//nothing",
    "//api",
    "//api/v1/nothing",
    "///api/jobs",
    "//api/jobs/%2e%2e/",
    "//api/v2/jobs",
  ]) {
    const answer = await hub.call("GET", path, { token: hub.admin });
    expect(answer, path).toMatchObject({ status: 404, code: "NOT_FOUND" });
  }
});

test("queues are listed by tenant and type, and an administrator of a tenant sees its own", async () => {
  await hub.must("POST", "/jobs", { token: tokens.eve, body: { type: "queued", params: 1 } });
  const queues = (await hub.must("GET", "/queues", { token: hub.admin })).json<Record<string, unknown>[]>();
  expect(queues).toContainEqual({
    tenant_id: "globex",
    type: "queued",
    paused: false,
    pending: 1,
    active: 0,
  });
  const ofAcme = (await hub.must("GET", "/queues", { token: tokens.acmeAdmin })).json<
    Record<string, unknown>[]
  >();
  expect(ofAcme.every((queue) => queue["tenant_id"] === "acme")).toBe(true);
});

type OpenApi = {
  openapi: string;
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters: { in: string; name: string }[];
        responses: Record<string, unknown>;
        requestBody?: unknown;
        security?: unknown;
      }
    >
  >;
};
