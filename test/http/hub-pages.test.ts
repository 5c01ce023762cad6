import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { pagePaths } from "../../src/contract/page-paths.ts";
import { probeRoutes } from "../../src/contract/routes/probe-routes.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import type { Endpoint } from "../../src/hub/http/app.ts";
import { addDashboard } from "../../src/hub/http/pages/dashboard.ts";
import { Router } from "../../src/hub/http/router.ts";
import type { Answer } from "../support/call-http.ts";
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

test("B8: the reference is static: groups, search and examples, and nothing inline", async () => {
  for (const prefix of ["//api", "//api/v1"]) {
    const page = await hub.call("GET", `${prefix}/docs`);
    expectSafe(page);
    expect(page.headers["content-security-policy"]).toMatch(/style-src 'self'; script-src 'self'; /);
    expect(page.text).not.toMatch(
      /<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc="\/api\/docs\/)/i,
    );
    for (const name of Object.keys({ ...routes, ...probeRoutes }))
      expect(page.text).toContain(`id="${name}"`);
    expect(page.text).toContain('<input type="search"');
    expect(page.text).toContain("<h2>Worker protocol</h2>");
    expect(page.text).toContain(escaped('"argv": ['));
    const files = [...page.text.matchAll(/(?:href|src)="(\/api\/docs\/[^"]+)"/g)].map(([, path]) => path);
    expect(files).toEqual(["/api/docs/reference.css", "/api/docs/reference.js"]);
    for (const file of files) {
      const answer = await hub.call("GET", `/${file}`);
      expect(answer.status).toBe(200);
      expect(answer.headers["content-type"]).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    }
    const data = await hub.call("GET", `${prefix}/openapi.json`);
    expect(data.json()).toMatchObject({ openapi: "3.1.0", info: { version: "0.0.0-test" } });
  }
});

test("the dashboard is one document for all its pages, with nothing inline and nothing foreign", async () => {
  const page = await hub.call("GET", "//");
  expectSafe(page);
  const policy = page.headers["content-security-policy"] as string;
  expect(policy).toContain("script-src 'self'; style-src 'self'; ");
  expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
  expect(page.text).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc="\/assets\/)/i);
  for (const path of pagePaths) {
    const other = await hub.call("GET", `/${path.replace(":id", "01890000-0000-7000-8000-000000000000")}`);
    expect(other.text, path).toBe(page.text);
  }
  const files = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!);
  expect(files.length).toBeGreaterThan(1);
  let bytes = 0;
  for (const file of files) {
    expect(file).toMatch(/^\/assets\/[\w-]+\.(js|css|svg)$/);
    const answer = await hub.call("GET", `/${file}`, { headers: { "Accept-Encoding": "gzip" } });
    expect(answer.status, file).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-encoding": "gzip",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
    bytes += answer.bytes.length;
  }
  expect(bytes).toBeLessThan(170_000);
  for (const path of ["//assets/nothing.js", "//assets/..%2findex.html"])
    expect(await hub.call("GET", path), path).toMatchObject({ status: 404, code: "NOT_FOUND" });
});

test("a browser is shown a page where there is none, and a program is answered in JSON", async () => {
  const page = await hub.call("GET", "//");
  const browser = { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
  for (const path of ["//nope", "//jobs/a/b/c", "//index.php"]) {
    const answer = await hub.call("GET", path, browser);
    expect(answer, path).toMatchObject({ status: 404, text: page.text });
    expectSafe(answer);
    expect(await hub.call("GET", path), path).toMatchObject({ status: 404, code: "NOT_FOUND" });
  }
  for (const path of ["//api/nope", "//api/v1/nope", "//api", "//assets/nothing.js"])
    expect(await hub.call("GET", path, browser), path).toMatchObject({ status: 404, code: "NOT_FOUND" });
  expect(await hub.call("POST", "//nope", browser)).toMatchObject({ status: 404, code: "NOT_FOUND" });
});

test("without a built dashboard, the first page says how to build it and runs no script", async () => {
  const router = new Router<Endpoint>();
  const orElse = () => ({ status: 200, headers: {}, body: "not built" });
  addDashboard(router, { orElse, imageOrigin: null }, "/nonexistent");
  const exchange = {} as Parameters<Endpoint>[0];
  expect(await router.look("GET", "/jobs").target?.(exchange, {})).toMatchObject({ body: "not built" });
});

function expectSafe({ headers }: Answer): void {
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(headers["x-content-type-options"]).toBe("nosniff");
  const policy = headers["content-security-policy"] as string;
  const rules = ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"];
  for (const rule of rules) expect(policy).toContain(rule);
  expect(policy).not.toMatch(/unsafe|https?:/);
}

function escaped(text: string): string {
  return text.replaceAll('"', "&quot;");
}

test("the public keys are for everybody with a token, and no private one is among them", async () => {
  const answer = await hub.call("GET", "/keys", { token: tokens.worker });
  expect(answer.json()).toMatchObject({ keys: [{ key_id: expect.stringMatching(/^[0-9a-f]{16}$/) }] });
  expect(answer.text).toContain("BEGIN PUBLIC KEY");
  expect(answer.text).not.toContain("PRIVATE");
});

test("an unknown path is 404 in every spelling", async () => {
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

test("a page, a probe or a file with another method is 405, and says what is allowed", async () => {
  for (const path of [
    "//",
    "//jobs",
    "//healthz",
    "//api/v1/readyz",
    "//metrics",
    "//api/docs",
    "//assets/a.js",
  ]) {
    const answer = await hub.call("DELETE", path, { token: hub.admin });
    expect(answer, path).toMatchObject({
      status: 405,
      code: "METHOD_NOT_ALLOWED",
      headers: { allow: "GET" },
    });
  }
  const short = await hub.call("POST", "//jobs", { token: hub.admin, body: { type: "x", params: 1 } });
  expect(short).toMatchObject({ status: 404, code: "NOT_FOUND" });
  expect(short.text).toContain("paths of the API begin with /api/v1");
});

test("a HEAD is answered like a GET, without the body", async () => {
  for (const path of ["//", "//healthz", "//api/docs", "//api/v1/workers"]) {
    const answer = await hub.call("HEAD", path, { token: hub.admin });
    expect(answer, path).toMatchObject({ status: 200, text: "" });
    const { headers } = await hub.call("GET", path, { token: hub.admin });
    expect(answer.headers["content-type"], path).toBe(headers["content-type"]);
  }
});

test("a path is found however its characters are encoded, and also in a whole address", async () => {
  for (const path of ["//api/v1/%6aobs", "//%61pi/jobs"])
    expect(await hub.call("GET", path, { token: hub.admin }), path).toMatchObject({ status: 200 });
  const connection = hub.agent.createConnection({})!;
  connection.write(
    "GET http://hub.example/healthz?x=1 HTTP/1.1\r\nHost: hub.example\r\nConnection: close\r\n\r\n",
  );
  expect(await text(connection)).toMatch(/^HTTP\/1\.1 200 /);
});

test("queues are listed by tenant and type, and an administrator of a tenant sees its own", async () => {
  await hub.must("POST", "/jobs", { token: tokens.eve, body: { type: "queued", params: 1 } });
  const queues = (await hub.must("GET", "/queues", { token: hub.admin })).json<Record<string, unknown>[]>();
  expect(queues).toContainEqual({
    tenant_id: "globex",
    type: "queued",
    paused: false,
    pending: 1,
    scheduled: 0,
    active: 0,
  });
  const ofAcme = (await hub.must("GET", "/queues", { token: tokens.acmeAdmin })).json<
    Record<string, unknown>[]
  >();
  expect(ofAcme.every((queue) => queue["tenant_id"] === "acme")).toBe(true);
});
