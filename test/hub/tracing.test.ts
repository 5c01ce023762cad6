import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { startTestWorker } from "../support/worker.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${spanId}-01`;
const readTrace = { kind: "exec" as const, argv: ["sh", "-c", 'printf %s "$TRACEPARENT"'] };

async function open(env: Record<string, string> = {}): Promise<TestHub> {
  const hub = await startTestHub({ ...stillEnv, ...env });
  onTestFinished(() => hub.stop());
  return hub;
}

async function openCollector(): Promise<{ collector: Collector; env: Record<string, string> }> {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  return { collector, env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` } };
}

/** What a job of this hub finds as TRACEPARENT. */
async function seenBy(hub: TestHub, id: string): Promise<string> {
  const read = jobReader(hub);
  await eventually("the job is done", async () => (await read(id)).status === "completed");
  return (await hub.must("GET", `/jobs/${id}/output/stdout`, { token: hub.admin })).text;
}

const documentOf = async (hub: TestHub, type: string) => {
  const body = { worker_id: "looker", types: [type] };
  await hub.must("POST", "/workers/register", {
    token: hub.admin,
    body: { worker_id: "looker", cores: 1, ram_gb: 1, tags: [], kinds: ["exec"], document_format: 6 },
  });
  const claimed = await hub.must("POST", "/jobs/claim", { token: hub.admin, body });
  return JSON.parse(claimed.json<{ document: string }>().document) as Record<string, unknown>;
};

test("a context that is not one is refused in a body and ignored in a header", async () => {
  const hub = await open();
  const body = { type: "t", run: readTrace, traceparent: `00-${"0".repeat(32)}-${spanId}-01` };
  const refused = await hub.call("POST", "/jobs", { token: hub.admin, body });
  expect(refused).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(refused.text).toContain("traceparent: must be a W3C traceparent such as");
  const { type } = await submitJob(hub);
  expect(await documentOf(hub, type)).not.toHaveProperty("traceparent");
  const headers = { traceparent: "nonsense" };
  const ignored = await hub.call("POST", "/jobs", {
    token: hub.admin,
    headers,
    body: { type: "u", run: readTrace },
  });
  expect(ignored.status).toBe(201);
  expect(await documentOf(hub, "u")).not.toHaveProperty("traceparent");
});

test("a header is the context of jobs without one, and a repeated call with another span is the same call", async () => {
  const hub = await open();
  const body = { type: "t", run: readTrace, idempotency_key: "once" };
  const first = await hub.must("POST", "/jobs", { token: hub.admin, headers: { traceparent }, body });
  const other = `00-${traceId}-1111111111111111-01`;
  const again = await hub.must("POST", "/jobs", { token: hub.admin, headers: { traceparent: other }, body });
  expect(again.status).toBe(200);
  expect(again.json()).toEqual(first.json());
  expect(await documentOf(hub, "t")).toMatchObject({ traceparent });
  const jobs = [{ type: "u", run: readTrace, traceparent: other }];
  await hub.must("POST", "/jobs/batch", { token: hub.admin, headers: { traceparent }, body: { jobs } });
  expect(await documentOf(hub, "u")).toMatchObject({ traceparent: other });
});

test("without a collector the process sees the caller's context, and one without a context sees none", async () => {
  const hub = await open();
  const worker = await startTestWorker(hub);
  onTestFinished(() => worker.stop());
  const traced = await submitJob(hub, { run: readTrace, traceparent });
  expect(await seenBy(hub, traced.id)).toBe(traceparent);
  expect(await seenBy(hub, (await submitJob(hub, { run: readTrace })).id)).toBe("");
  const own = { ...readTrace, env: { TRACEPARENT: "my own" } };
  expect(await seenBy(hub, (await submitJob(hub, { run: own, traceparent })).id)).toBe("my own");
});

test("jobctl sends TRACEPARENT over gRPC too, and submit takes another context by a flag", async () => {
  const hub = await open();
  const worker = await startTestWorker(hub);
  onTestFinished(() => worker.stop());
  const env = { WRIT_HOME: hub.home, WRIT_USER: "root", TRACEPARENT: traceparent };
  const started = await runCli("jobctl", ["run", ...readTrace.argv], { env });
  expect([started.code, started.stdout]).toEqual([0, traceparent]);
  const broken = await runCli("jobctl", ["run", ...readTrace.argv], {
    env: { ...env, TRACEPARENT: "nonsense" },
  });
  expect([broken.code, broken.stdout]).toEqual([0, ""]);
  const other = `00-${traceId}-1111111111111111-01`;
  const submit = ["submit", "traced", "--traceparent", other, "--exec", "--", ...readTrace.argv];
  const submitted = await runCli("jobctl", submit, { env });
  expect(await seenBy(hub, submitted.stdout.trim())).toBe(other);
  const refused = await runCli("jobctl", ["submit", "t", "--traceparent", "nonsense"], { env });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("traceparent: must be a W3C")]);
});

test("submit, wait, run and report are spans of the caller's trace, and the process is below the run", async () => {
  const { collector, env } = await openCollector();
  const hub = await open({ ...env, OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20secret" });
  const worker = await startTestWorker(hub, { env });
  onTestFinished(() => worker.stop());
  const secret = "what-only-the-job-may-know";
  const client = Writ.fromEnvironment({
    WRIT_HUB_URL: hub.url,
    WRIT_TOKEN: hub.admin,
    TRACEPARENT: traceparent,
  });
  const run = { ...readTrace, env: { PASSWORD: secret } };
  const { id } = await client.submit({ type: "traced", run });
  const seen = await seenBy(hub, id);
  await eventually("all spans have arrived", () => collector.spans.length >= 4);
  const named = (name: string) => collector.spans.find((span) => span.name === name)!;
  const ran = named("writ.run");
  expect(seen).toBe(`00-${traceId}-${ran.spanId}-01`);
  for (const name of ["writ.submit", "writ.queue", "writ.run"]) {
    expect(named(name), name).toMatchObject({ traceId, parentSpanId: spanId });
  }
  expect(named("writ.report")).toMatchObject({ traceId, parentSpanId: ran.spanId });
  expect(collector.spans.map(({ service }) => service).sort()).toEqual([
    "writ-hub",
    "writ-hub",
    "writ-worker",
    "writ-worker",
  ]);
  expect(ran.attributes).toMatchObject({
    "writ.job.id": id,
    "writ.job.type": "traced",
    "writ.job.kind": "exec",
    "writ.job.attempt": "1",
    "writ.outcome": "succeeded",
  });
  expect(BigInt(ran.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(ran.startTimeUnixNano));
  expect(collector.requests.map(({ path }) => path)).toContain("/v1/traces");
  expect(collector.requests.find(({ text }) => text.includes("writ-hub"))?.headers["api-key"]).toBe(
    "a secret",
  );
  expect(collector.requests.map(({ text }) => text).join()).not.toContain(secret);
  client.close();
});

test("a job without a context is a trace by its id, and its failure is a code", async () => {
  const { collector, env } = await openCollector();
  const hub = await open(env);
  const worker = await startTestWorker(hub, { env });
  onTestFinished(() => worker.stop());
  const run = { kind: "exec", argv: ["sh", "-c", "exit 3"] };
  const { id } = await submitJob(hub, { run, max_attempts: 1 });
  await eventually("the run was exported", () => collector.spans.some(({ name }) => name === "writ.run"));
  const ran = collector.spans.find(({ name }) => name === "writ.run")!;
  expect(ran.traceId).toBe(id.replaceAll("-", ""));
  expect(ran).not.toHaveProperty("parentSpanId");
  expect(ran.status).toMatchObject({ code: 2 });
  expect(ran.status?.message).toMatch(/^[A-Z_]+$/);
});

test("a trace that the caller does not sample is not exported, and the process sees its context unchanged", async () => {
  const { collector, env } = await openCollector();
  const hub = await open(env);
  const worker = await startTestWorker(hub, { env });
  onTestFinished(() => worker.stop());
  const quiet = `00-${traceId}-${spanId}-00`;
  expect(await seenBy(hub, (await submitJob(hub, { run: readTrace, traceparent: quiet })).id)).toBe(quiet);
  const { id } = await submitJob(hub, { run: readTrace });
  await seenBy(hub, id);
  await eventually("a later job was exported", () => collector.spans.some(({ name }) => name === "writ.run"));
  expect(collector.spans.map((span) => span.traceId)).not.toContain(traceId);
});

test("without an endpoint no module of the exporter is loaded, and with one it is", () => {
  const home = mkdtempSync(join(tmpdir(), "writ-tracing-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const root = join(import.meta.dirname, "../..");
  const loadedWith = (env: Record<string, string>, folder: string) => {
    const script = `
      import { registerHooks } from "node:module";
      const seen = [];
      registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
      const { startHub } = await import(${JSON.stringify(join(root, "src/hub/start.ts"))});
      const options = { home: ${JSON.stringify(join(home, folder))}, flags: { port: "0", grpcPort: "0" }, osUser: "root" };
      const hub = await startHub({ ...options, version: "1", env: ${JSON.stringify({ WRIT_LOG_LEVEL: "warn", ...env })} });
      await hub.stop();
      console.log(JSON.stringify(seen.filter((url) => url.includes("/otlp-")).map((url) => url.split("/").at(-1)).sort()));
    `;
    const file = join(home, `${folder}.mjs`);
    writeFileSync(file, script);
    const out = execFileSync(process.execPath, [file], { encoding: "utf8" });
    return JSON.parse(out.trim().split("\n").at(-1)!) as string[];
  };
  expect(loadedWith({}, "off")).toEqual([]);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  expect(loadedWith(endpoint, "on")).toContain("otlp-exporter.ts");
});
