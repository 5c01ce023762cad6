import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const tokens = tokensOf(hub);

function writ(...args: string[]): Promise<CliRun> {
  return runCli("writ", args, { env: { WRIT_HOME: hub.home } });
}

function writAs(token: string, ...args: string[]): Promise<CliRun> {
  return runCli("writ", args, { env: { WRIT_HOME: hub.home, WRIT_TOKEN: token } });
}

async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await writ(...args, "--json");
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test.each([
  ["nonsense", '--url: "nonsense" is not a hub address; use https://host:port'],
  ["ftp://hub.example", '--url: "ftp://hub.example" is not a hub address; use https://host:port'],
  ["https://hub.example/api/v1", "use https://hub.example"],
  ["https://a:1,https://a:1", "hub address https://a:1 was given twice"],
])("workers add refuses --url %s before there is a token", async (url, message) => {
  const name = freshName("w");
  const file = join(tmpdir(), `${name}.yaml`);
  const run = await writ("workers", "add", name, "--url", url, "--out", file);
  expect(run).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  expect(existsSync(file)).toBe(false);
  expect((await rows("tokens", "list")).filter((token) => token["worker_id"] === name)).toEqual([]);
});

test("workers add refuses a folder that is not there before there is a token", async () => {
  const name = freshName("w");
  const file = join(tmpdir(), name, "w.yaml");
  expect(await writ("workers", "add", name, "--out", file)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: `writ: --out: ${file} cannot be written (ENOENT); name a file elsewhere\n`,
  });
  expect((await rows("tokens", "list")).filter((token) => token["worker_id"] === name)).toEqual([]);
});

test("workers add says what the worker needs for an address without TLS", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-add-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const args = ["--url", "http://hub.example:3000", "--out", join(folder, "w.yaml")];
  const { code, stderr } = await writ("workers", "add", freshName("w"), ...args);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^note: http:\/\/hub\.example:3000 would get .* WRIT_ALLOW_INSECURE=true\n$/);
});

test("workers add finds the hub and its authority wherever the client does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-add-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "jobctl.yaml"), `hub: ${hub.url}\n`);
  const file = join(folder, "w.yaml");
  const env = { WRIT_HOME: folder, WRIT_TOKEN: hub.admin, WRIT_CA_FILE: join(hub.home, "certs", "ca.crt") };
  const plain = await runCli("writ", ["workers", "add", freshName("w"), "--out", file], { env });
  expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining(`can reach ${hub.url}`) });
  expect(readFileSync(file, "utf8")).toContain(hub.url);
  const args = ["workers", "add", freshName("w"), "--out", `${file}2`, "--url", "https://hub.example:1"];
  expect(await runCli("writ", args, { env })).toMatchObject({ code: 0 });
  expect(readFileSync(`${file}2`, "utf8")).toContain("BEGIN CERTIFICATE");
});

test.each([
  [["workers", "drain"], 2, /missing required argument/],
  [["workers", "drain", "lost"], 4, /lost/],
  [["workers", "remove", "lost"], 4, /lost/],
  [["queues", "pause", "no such type"], 2, /type/],
  [["quotas", "set", "acme"], 2, /no limit given; use --max-pending/],
  [["quotas", "set", "acme", "--max-pending", "many"], 2, /--max-pending/],
])("C6: writ %j is refused in one line", async (args, code, message) => {
  const run = await writ(...args);
  expect(run).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
  expect(run.stderr.trim().split("\n")).toHaveLength(1);
});

test("C6: the caller's credential decides what it may do", async () => {
  const id = await registerWorker(hub);
  expect(await writAs(tokens.alice, "workers", "drain", id)).toMatchObject({ code: 5, stdout: "" });
  expect(await writAs(tokens.alice, "queues", "pause", "any")).toMatchObject({ code: 5, stdout: "" });
  expect(await writAs(tokens.alice, "quotas")).toMatchObject({ code: 5, stdout: "" });
});

test.each(["workers", "queues", "quotas", "tokens"])(
  "%s alone lists, and a wrong word is named",
  async (group) => {
    await registerWorker(hub);
    const alone = await writ(group);
    expect(alone).toMatchObject({ code: 0, stderr: "" });
    expect(alone.stdout).toBe((await writ(group, "list")).stdout);
    expect(await writ(group, "--json")).toEqual(await writ(group, "list", "--json"));
    const mistyped = await writ(group, "lisst");
    expect(mistyped).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/lisst.*Did you mean list/),
    });
  },
);

test("C6: workers are listed, drained, blocked and released again", async () => {
  const id = await registerWorker(hub);
  const state = async () => (await rows("workers", "list")).find((worker) => worker["id"] === id)?.["status"];
  for (const [act, status] of [
    ["drain", "draining"],
    ["undrain", "active"],
    ["block", "blocked"],
    ["unblock", "active"],
  ] as const) {
    expect(await writ("workers", act, id)).toEqual({ code: 0, stdout: `${id} is ${status}\n`, stderr: "" });
    expect(await state()).toBe(status);
  }
  expect((await writ("workers", "list")).stdout).toMatch(
    new RegExp(`^ID +STATUS[\\s\\S]*^${id} +active `, "m"),
  );
  expect(await rows("workers", "drain", id)).toMatchObject([{ id, status: "draining" }]);
});

test.each([
  ["drain", "is draining"],
  ["undrain", "is active"],
  ["block", "is blocked"],
  ["unblock", "is active"],
  ["remove", "is removed"],
])("workers %s does what it can, and reports each worker that it does not find", async (act, done) => {
  const [first, second] = [await registerWorker(hub), await registerWorker(hub)];
  const run = await writ("workers", act, "lost", first, "lost-too", second);
  expect(run).toMatchObject({ code: 4, stdout: `${first} ${done}\n${second} ${done}\n` });
  const failures = run.stderr.split("\n").filter((line) => line.startsWith("writ: "));
  expect(failures).toEqual([
    expect.stringMatching(/lost\b.*`writ workers list`/),
    expect.stringMatching(/lost-too\b.*`writ workers list`/),
  ]);
});

test("C6: a worker without jobs is removed; one with jobs only after a yes", async () => {
  const idle = await registerWorker(hub);
  expect(await writ("workers", "remove", idle)).toMatchObject({
    code: 0,
    stdout: `${idle} is removed\n`,
    stderr: expect.stringMatching(/^note: it registers again while its process runs/),
  });

  const { id, fence } = await runningJob(hub);
  const busy = fence.worker_id;
  expect(await writ("workers", "remove", busy)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/holds 1 job, and each that has started loses an attempt.*give --yes/),
  });
  const asked = (typed: string) =>
    runCli("writ", ["workers", "remove", busy], { env: { WRIT_HOME: hub.home }, typed });
  expect(await asked("n\n")).toMatchObject({ code: 1, stdout: "" });
  expect(await asked("y\n")).toMatchObject({ code: 0, stdout: `${busy} is removed\n` });
  expect((await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json()).toMatchObject({
    status: "pending",
    fail_history: [{ code: "WORKER_DISCONNECTED" }],
  });
});

test("C6: a blocked worker is not removed, and the reason is given", async () => {
  const id = await registerWorker(hub);
  await writ("workers", "block", id);
  expect(await writ("workers", "remove", id)).toMatchObject({
    stdout: `${id} stays in the list, because its block must last\n`,
    stderr: `note: unblock it first: writ workers unblock ${id}\n`,
  });
});

test("C6: types are paused and resumed, and a paused type without jobs is listed", async () => {
  const type = freshName("pause");
  const queue = async () => (await rows("queues", "list")).filter((row) => row["type"] === type);
  expect(await writ("queues", "pause", type)).toMatchObject({ code: 0, stdout: `${type} is paused\n` });
  expect(await queue()).toEqual([
    { tenant_id: null, type, paused: true, pending: 0, scheduled: 0, active: 0 },
  ]);
  await submitJob(hub, { type });
  await submitJob(hub, { type, run_at: Date.now() + 3_600_000 });
  expect(await queue()).toMatchObject([{ paused: true, pending: 2, scheduled: 1 }]);
  expect((await writ("queues", "list")).stdout).toMatch(new RegExp(`^${type} +\\S+ +1 +1 +0 +paused$`, "m"));
  expect(await writ("queues", "resume", type)).toMatchObject({ stdout: `${type} is running again\n` });
  expect(await queue()).toMatchObject([{ paused: false, pending: 2 }]);
});

test("C6: one limit of a quota is changed and the others stay", async () => {
  const tenant = freshName("quota").replaceAll(/\W/g, "_");
  const quota = async () => (await rows("quotas")).find((row) => row["tenant_id"] === tenant)?.["quota"];
  expect(await writ("quotas", "set", tenant, "--max-pending", "10", "--max-running", "2")).toMatchObject({
    code: 0,
  });
  const { stdout } = await writ("quotas", "set", tenant, "--max-pending", "none");
  expect(stdout).toMatch(/^max_pending +none$/m);
  expect(stdout, "it has a default").toMatch(/^max_queues +10000 \(default\)$/m);
  expect(await quota()).toEqual({ max_running: 2 });
  expect((await writ("quotas", "list")).stdout).toMatch(new RegExp(`^${tenant} +0 +0 of 2 `, "m"));
});

test("the exported public keys are counted in plain English", async () => {
  const file = join(hub.home, "exported.pem");
  expect(await writ("keys", "export", "--out", file)).toMatchObject({
    code: 0,
    stdout: `wrote 1 public key to ${file}\n`,
  });
});

test("C6: a certificate has no token to refresh, and the answer says what to do", async () => {
  const run = await runCli("writ", ["tokens", "refresh"], {
    env: { WRIT_HOME: hub.home, WRIT_USER: "root" },
  });
  expect(run).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/certificate.*--token/) });
  expect(run.stderr).not.toContain("jobctl");
});

test("C6: a refreshed token replaces the old one, and the home's own file", async () => {
  const { stdout } = await writ("tokens", "issue", "--role", "admin", "--user", "ann");
  const fresh = await writAs(stdout.trim(), "tokens", "refresh");
  expect(fresh).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sk_admin_\S+\n$/) });
  expect(await writAs(stdout.trim(), "tokens", "list")).toMatchObject({ code: 5 });
  expect(await writAs(fresh.stdout.trim(), "tokens", "list")).toMatchObject({ code: 0 });

  const file = join(hub.home, "admin.token");
  const before = readFileSync(file, "utf8");
  const own = await writ("tokens", "refresh");
  expect(own).toMatchObject({ code: 0, stdout: `${file} holds a new token\n` });
  expect(readFileSync(file, "utf8")).not.toBe(before);
  expect(await writ("tokens", "list")).toMatchObject({ code: 0 });
});

test("tokens that are valid, expired and revoked are listed as such", async () => {
  const issue = async (...more: string[]) =>
    JSON.parse((await writ("tokens", "issue", "--role", "user", "--json", ...more)).stdout).id as string;
  const [lasting, short, revoked] = [
    await issue("--expires", "1d"),
    await issue("--expires", "1s"),
    await issue(),
  ];
  await writ("tokens", "revoke", revoked);
  const states = async () => {
    const { stdout } = await writ("tokens", "list");
    return [lasting, short, revoked].map((id) => new RegExp(`^${id} .* (\\S+)$`, "m").exec(stdout)?.[1]);
  };
  await eventually("the short one has expired", async () => (await states())[1] === "expired");
  expect(await states()).toEqual(["valid", "expired", "revoked"]);
});

test("the doctor leaves out what a user may not see, and finds no problem in that", async () => {
  const run = await writAs(tokens.alice, "doctor");
  expect(run).toMatchObject({ code: 0, stderr: "" });
  expect(run.stdout).toMatch(/^skipped +workers +not checked \(needs an administrator\)$/m);
  expect(run.stdout).toMatch(/, 0 problems; 3 not checked\n$/);
});
