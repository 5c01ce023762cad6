import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { openOldHome } from "../compat/old-home.ts";
import { storedFile } from "../support/files.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { submitJob } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";

/** Made by the hub of that schema; it has jobs in every state. */
const schema = 25;

export type FullHome = { home: string; sqlite: string };

/** By today's calendar, the jobs of the fixture would be old enough to be removed, and its log to be moved into files. */
const keepAll = {
  WRIT_JOB_RETENTION_DAYS: "36500",
  WRIT_DEAD_LETTER_DAYS: "36500",
  WRIT_FILE_RETENTION_DAYS: "36500",
  WRIT_AUDIT_HOT_DAYS: "36500",
  WRIT_AUDIT_COLD_DAYS: "36500",
};

/** The home of a hub with jobs in every state, output, workers, tokens and everything else that a database can hold. */
export async function fullHome(
  whenDone: (remove: () => void) => void = onTestFinished,
  env: Record<string, string> = {},
): Promise<FullHome> {
  return homeWith([fill, fillWithTerms], whenDone, env);
}

/** The same with what version 0.1 could keep. */
export function fullHomeOfRows(whenDone: (remove: () => void) => void): Promise<FullHome> {
  return homeWith([fill], whenDone, {});
}

async function homeWith(
  fills: ((hub: TestHub, nowMs: number) => Promise<void>)[],
  whenDone: (remove: () => void) => void,
  env: Record<string, string>,
): Promise<FullHome> {
  const old = openOldHome(schema, "homes");
  whenDone(() => old.remove());
  const full = { home: old.home, sqlite: join(old.home, "writ.sqlite") };
  const hub = await startIn(full, env);
  for (const one of fills) await one(hub, Date.now());
  await hub.stop({ keepHome: true });
  return full;
}

export function startIn({ home }: FullHome, env: Record<string, string> = {}): Promise<TestHub> {
  return startTestHub({ ...stillEnv, ...keepAll, ...env }, { home });
}

/** What the fixture does not hold: quotas, pauses, lockdowns, metrics, sessions, delayed jobs, chosen keys, files. */
async function fill(hub: TestHub, nowMs: number): Promise<void> {
  const token = hub.admin;
  await hub.must("PUT", "/tenants/acme/quota", { token, body: { max_pending: 50 } });
  await hub.must("PUT", "/queues/paused.type", { token, body: { paused: true } });
  await hub.must("POST", "/session/code", { token });
  const sizes = { mem_used_bytes: 1, mem_total_bytes: 2, disk_free_bytes: 3, slots_used: 0, slots: 4 };
  const metrics = { ts: 1_700_000_000_000, cpu_percent: 12.5, load1: 0.25, ...sizes };
  await hub.must("POST", "/workers/by-hand/metrics", { token, body: metrics });
  await submitJob(hub, { type: "later", run_at: nowMs + 3_600_000 });
  await submitJob(hub, { type: "keyed", idempotency_key: "chosen by a producer", priority: 7 });
  await submitJob(hub, { type: "odd", params: { text: "a\u0000b \ud83d\ude00" } });
  await submitJob(hub, { type: "large", params: { text: "x".repeat(300_000) } });
  const { token: ada } = (
    await hub.must("POST", "/tokens", { token, body: { role: "user", tenant_id: "acme", user_id: "ada" } })
  ).json<{ token: string }>();
  await storedFile(hub, ada, { folderId: "notes", objectKey: "a.txt", bytes: Buffer.from("hello") });
}

async function fillWithTerms(hub: TestHub, nowMs: number): Promise<void> {
  const retry = { max: 7, jitter: 0.5, on: ["TIMEOUT", 75] };
  await submitJob(hub, { type: "patient", retry, run_at: nowMs + 3_600_000 });
}

const volatile = [
  "lease_expires_at",
  "deadline_at",
  "last_heartbeat",
  "uptime_sec",
  "now",
  "series",
  "from",
  "until",
];

/** Everything that the API shows of the hub's database, but what a start changes. */
export async function lookThrough(hub: TestHub): Promise<Record<string, unknown>> {
  const token = hub.admin;
  const read = async (path: string): Promise<unknown> => {
    const answer = await hub.call("GET", path, { token });
    return answer.status === 200 ? still(JSON.parse(answer.text)) : answer.status;
  };
  const jobs = (await hub.must("GET", "/jobs?limit=500", { token })).json<JobView[]>();
  const found: Record<string, unknown> = {};
  for (const { id } of jobs) {
    const output = await hub.call("GET", `/jobs/${id}/output/stdout`, { token });
    found[id] = [
      await read(`/jobs/${id}`),
      await read(`/jobs/${id}/events`),
      await read(`/jobs/${id}/receipt`),
      [output.status, output.text],
    ];
  }
  for (const path of ["/workers", "/tokens", "/quotas", "/queues", "/lockdown", "/stats"])
    found[path] = await read(path);
  return found;
}

function still(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) => (volatile.includes(key) ? undefined : member)),
  );
}

export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-migrate-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function runMigrate(home: string, args: string[], env: Record<string, string> = {}) {
  return runCli("writ", ["migrate", "--home", home, ...args], { env });
}
