import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import {
  get,
  list,
  listLogs,
  nextSeq,
  pick,
  type RegistryPlace,
  readLog,
  register,
  setStatus,
} from "./index.ts";

const job = { prompt: "add a test", agent: "claude-code", agentSession: "tmux:claude" };

function emptyPlace(more: Partial<RegistryPlace> = {}): RegistryPlace & { cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), "writ-registry-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return { cwd, ...more };
}

test.each([
  ["prompt: must not be empty", { prompt: " " }],
  ["prompt: must be text without NUL", { prompt: "a\0b" }],
  ["prompt: has 262145 bytes; at most 262144 fit", { prompt: "x".repeat(262_145) }],
  ["agent: use 1 to 200 characters on one line", { agent: "a\nb" }],
  ["agent-session: use 1 to 200 characters on one line", { agentSession: "" }],
  ["timeout: 0 is not a number of seconds from 1 to 604800", { timeoutSec: 0 }],
  ["idle-timeout: 1.5 is not a number of seconds from 1 to 604800", { idleTimeoutSec: 1.5 }],
  ['expected-artifact: "../up" must not contain ..', { expectedArtifacts: ["../up"] }],
  ["topic-prefix: ", { topicPrefix: "a/#" }],
  ["topic-prefix: ", { topicPrefix: "$SYS/a" }],
  ["broker: is not the address of a broker", { broker: "http://host" }],
  ["broker: is not the address of a broker", { broker: "mqtt://host/path" }],
  ["broker: is not the address of a broker", { broker: "mqtts://host:0" }],
  ["broker: must not contain a password", { broker: "mqtt://user:secret@host" }],
  ["password-env: is not the name of a variable", { broker: "mqtt://host", passwordEnv: "a b" }],
  ["password-env: names the password of a broker", { passwordEnv: "SECRET" }],
])("a registration is refused before anything is written: %s", async (message, wrong) => {
  const place = emptyPlace();
  await expect(register(place, { ...job, ...wrong })).rejects.toThrow(message);
  expect(readdirSync(place.cwd)).toEqual([]);
});

test("a query without a registry finds nothing, and creates nothing", async () => {
  const place = emptyPlace();
  expect(await list(place)).toEqual([]);
  expect(await listLogs(place)).toEqual([]);
  expect(await pick(place, { agentSession: "s" })).toBeNull();
  const missing = { code: "NOT_FOUND" };
  await expect(get(place, "0badcafe")).rejects.toMatchObject(missing);
  await expect(setStatus(place, "0badcafe", "running")).rejects.toMatchObject(missing);
  await expect(nextSeq(place, "0badcafe")).rejects.toMatchObject(missing);
  await expect(readLog(place, "0badcafe")).rejects.toMatchObject(missing);
  expect(readdirSync(place.cwd)).toEqual([]);
});

test("a text that is not an id is not found, even if it is a path", async () => {
  const place = emptyPlace();
  await register(place, job);
  writeFileSync(join(place.cwd, "events.ndjson"), '{"ts":"","event":"registered"}\n');
  for (const id of ["../..", "../../", "x", "", "0BADCAFE", "0badcafe0", "%2e%2e"]) {
    await expect(get(place, id)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(readLog(place, id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
});

test.each(["jobs", "job_logs"])("a repository whose .writ/%s is a link leads nowhere else", async (name) => {
  const [place, other] = [emptyPlace(), emptyPlace()];
  mkdirSync(join(place.cwd, ".writ"));
  symlinkSync(other.cwd, join(place.cwd, ".writ", name));
  const errors: unknown[] = [];
  const registered = register({ ...place, onHistoryError: (error) => errors.push(error) }, job);
  if (name === "jobs") await expect(registered).rejects.toThrow("goes through, a symbolic link");
  else {
    await registered;
    expect(String(errors[0])).toContain("symbolic link");
  }
  expect(readdirSync(other.cwd)).toEqual([]);
});

test("a history whose files are links is not followed, and stops nothing", async () => {
  const place = emptyPlace();
  const { job_id: id } = await register(place, job);
  const folder = join(place.cwd, ".writ/job_logs", id);
  const target = join(place.cwd, "target");
  writeFileSync(target, "mine");
  rmSync(join(folder, "events.ndjson"));
  symlinkSync(target, join(folder, "events.ndjson"));
  const errors: unknown[] = [];
  await setStatus({ ...place, onHistoryError: (error) => errors.push(error) }, id, "running");
  expect(errors).toMatchObject([{ code: "ELOOP" }]);
  expect(readFileSync(target, "utf8")).toBe("mine");
  expect((await get(place, id)).status).toBe("running");
});

test("a job has the record of the contract, with its defaults", async () => {
  const place = emptyPlace({ clock: handClock() });
  const made = await register(place, job);
  expect(made).toEqual({
    schema_version: 1,
    job_id: expect.stringMatching(/^[0-9a-f]{8}$/),
    status: "pending",
    created_at: "1970-01-01T00:00:00.000Z",
    updated_at: "1970-01-01T00:00:00.000Z",
    ...{ prompt: "add a test", agent: "claude-code", agent_session: "tmux:claude" },
    broker: null,
    topic_prefix: `writ/jobs/${made.job_id}`,
    timeout_sec: 600,
    idle_timeout_sec: 120,
    expected_artifacts: [],
    last_seq: 0,
    auth_token: null,
  });
  expect(await get(place, made.job_id)).toEqual(made);
  expect(await list(place)).toEqual([made]);
});

test("a broker is kept with the name of its password's variable, and a token is never shown", async () => {
  const place = emptyPlace();
  const made = await register(place, {
    ...job,
    broker: "mqtts://ann@broker.example",
    passwordEnv: "BROKER_PASSWORD",
    auth: true,
  });
  const broker = {
    host: "broker.example",
    port: 8883,
    tls: true,
    username: "ann",
    password_env: "BROKER_PASSWORD",
  };
  expect(made).toMatchObject({ broker, auth_token: "***" });
  const folder = join(place.cwd, ".writ/job_logs", made.job_id);
  expect(JSON.parse(readFileSync(join(folder, "meta.json"), "utf8"))).toEqual(made);
});

test("files are private and stay out of git", async () => {
  const place = emptyPlace();
  const { job_id: id } = await register(place, job);
  await setStatus(place, id, "running");
  for (const path of ["jobs/registry.sqlite", ...["meta.json", "events.ndjson", "status.json"].map(inLogs)]) {
    expect([path, statSync(join(place.cwd, ".writ", path)).mode & 0o077]).toEqual([path, 0]);
  }
  for (const name of ["jobs", "job_logs"]) {
    expect(readFileSync(join(place.cwd, ".writ", name, ".gitignore"), "utf8")).toBe("*\n");
  }

  function inLogs(name: string): string {
    return `job_logs/${id}/${name}`;
  }
});

test("a session gets its own jobs, oldest first", async () => {
  const place = emptyPlace();
  const ids: string[] = [];
  for (const agentSession of ["a", "b", "a"])
    ids.push((await register(place, { ...job, agentSession })).job_id);
  const picked = async (agentSession: string) => (await pick(place, { agentSession }))?.job_id;
  expect([await picked("a"), await picked("a"), await picked("a")]).toEqual([ids[0], ids[2], undefined]);
  expect([await picked("b"), await picked("b")]).toEqual([ids[1], undefined]);
});

test.each(["completed", "error", "cancelled"])("%s is final, and may only be set again", async (end) => {
  const place = emptyPlace();
  const { job_id: id } = await register(place, job);
  await setStatus(place, id, "running");
  await setStatus(place, id, end);
  const before = await get(place, id);
  expect(await setStatus(place, id, end)).toEqual(before);
  for (const next of ["pending", "running", "completed", "error", "cancelled"].filter((s) => s !== end)) {
    await expect(setStatus(place, id, next)).rejects.toMatchObject({ code: "STATE_CONFLICT" });
  }
  await expect(setStatus(place, id, "done")).rejects.toThrow('"done" is not a status; use one of pending');
  expect(await get(place, id)).toEqual(before);
});

test("O-19: a running job becomes an error when it has run too long, and never because it is silent", async () => {
  const clock = handClock();
  const place = emptyPlace({ clock });
  const { job_id: silent } = await register(place, { ...job, timeoutSec: 100, idleTimeoutSec: 50 });
  await pick(place, { agentSession: job.agentSession });
  const statusAfter = async (ms: number) => {
    await clock.pass(ms);
    expect(await pick(place, { agentSession: "another" })).toBeNull();
    return (await get(place, silent)).status;
  };
  expect(await statusAfter(99_999)).toBe("running");
  expect(await statusAfter(1)).toBe("error");
  await expect(setStatus(place, silent, "completed")).rejects.toMatchObject({ code: "STATE_CONFLICT" });
  expect((await readLog(place, silent)).at(-1)).toMatchObject({ to: "error", reason: "timeout" });
});

test("the history tells the whole story, and is there when the registry is gone", async () => {
  const clock = handClock();
  const place = emptyPlace({ clock });
  const { job_id: id } = await register(place, job);
  await clock.pass(1_000);
  await pick(place, { agentSession: job.agentSession });
  await clock.pass(1_000);
  await setStatus(place, id, "completed");
  rmSync(join(place.cwd, ".writ/jobs"), { recursive: true });
  const lines = [
    { ts: "1970-01-01T00:00:00.000Z", event: "registered" },
    { ts: "1970-01-01T00:00:01.000Z", event: "status_changed", from: "pending", to: "running" },
    { ts: "1970-01-01T00:00:02.000Z", event: "status_changed", from: "running", to: "completed" },
  ];
  expect(await readLog(place, id)).toEqual(lines);
  expect(await readLog(place, id, { tail: 1 })).toEqual(lines.slice(-1));
  expect(await listLogs(place)).toEqual([
    { job_id: id, status: "completed", updated_at: "1970-01-01T00:00:02.000Z" },
  ]);
});

test("the history may be elsewhere, and a registry works without one", async () => {
  const place = emptyPlace();
  const logs = emptyPlace();
  const env = { WRIT_JOB_LOGS_DIR: join(logs.cwd, "kept") };
  const { job_id: id } = await register({ ...place, env }, job);
  expect(existsSync(join(place.cwd, ".writ/job_logs"))).toBe(false);
  expect(await readLog({ ...place, env }, id)).toHaveLength(1);
  writeFileSync(join(logs.cwd, "file"), "");
  const errors: unknown[] = [];
  const blocked = { WRIT_JOB_LOGS_DIR: join(logs.cwd, "file", "x") };
  await setStatus({ ...place, env: blocked, onHistoryError: (error) => errors.push(error) }, id, "running");
  expect(errors).toHaveLength(1);
  expect((await get(place, id)).status).toBe("running");
});

test("a registry of a newer version is left alone", async () => {
  const place = emptyPlace();
  await register(place, job);
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(place.cwd, ".writ/jobs/registry.sqlite"));
  database.exec("PRAGMA user_version = 2");
  database.close();
  await expect(list(place)).rejects.toThrow("was written by a newer version");
});

test("a directory that cannot be made is refused, also below /proc", async () => {
  await expect(register({ registryDir: "/proc/writ/jobs" }, job)).rejects.toThrow(
    "/proc/writ/jobs cannot be used (ENOENT)",
  );
});
