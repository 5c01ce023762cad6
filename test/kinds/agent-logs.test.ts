import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { AgentStage, finished, workersDir } from "./agent-stage.ts";

let stage: AgentStage;
let port: number;
beforeEach(async () => {
  stage = new AgentStage();
  port = await freePort();
});
afterEach(() => stage.remove());

const secret = "quite secret";
const stars = "*".repeat(secret.length);
const script = (job_id: string, text: string, more: object = {}) => ({
  job_id,
  job_class: "x",
  worker_command: ["sh", "-c", text],
  interface: { kind: "exec_per_job" },
  ...more,
});
const odd = (job_id: string, act: string, more: object = {}) => ({
  job_id,
  job_class: "x",
  worker_command: [process.execPath, join(workersDir, "odd.mjs"), "--port", String(port)],
  interface: { kind: "persistent_http", port },
  job_input: { act },
  ...more,
});

/** Everything that is on the disk, as far as it is text. */
function filesBelow(dir: string): { path: string; text: string }[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
}

test("secrets of a process are masked in its logs, its result and its error, and in no file of the agent", async () => {
  const text = `echo "out $KEY"; echo "err $KEY" >&2; printf '%s' "$KEY" | base64 >/dev/stderr; echo "\\"$KEY\\""; exit 3`;
  const report = await stage.runJob(script("one", text, { secrets: { KEY: secret } }));
  expect(report).toMatchObject({ code: 3, result: stars });
  const shown = await stage.run(["job-log", "--job-id", "one"]);
  expect(shown.stdout).toBe(`out ${stars}\n"${stars}"\n`);
  expect(shown.stderr).toBe(`err ${stars}\n${"*".repeat(16)}\n`);
  for (const { path, text: written } of filesBelow(stage.dir))
    expect(`${path}: ${written}`).not.toContain(secret);
});

test("secrets of an HTTP worker are masked in its own log, and in the logs and results of its jobs", async () => {
  const secrets = { API_KEY: secret };
  const told = await stage.runJob(odd("a", "tell", { secrets }));
  expect(told).toMatchObject({ success: true, result: { key: stars } });
  const failed = await stage.runJob(odd("b", "tell-error", { secrets }));
  expect(failed).toMatchObject({ code: 1, error: { message: expect.stringContaining(`bad key ${stars}`) } });
  const shown = await stage.run(["job-log", "--job-id", "a"]);
  expect(shown).toMatchObject({ stdout: `the key is ${stars}\n`, stderr: `again: ${stars}\n` });
  await eventually("its own log is written", () =>
    stage.log("workers", `http_${port}.log`).includes(`my log: ${stars}\n`),
  );
  for (const { path, text } of filesBelow(stage.dir)) expect(`${path}: ${text}`).not.toContain(secret);
  expect(readdirSync(join(stage.stateDir, "jobs", "a")).sort()).toEqual(["input.json", "output"]);
});

test("job-log --follow shows what is written while it is written, and ends with the job", async () => {
  const go = join(stage.dir, "go");
  const text = `echo first; echo "$KEY" >&2; until [ -e ${go} ]; do sleep 0.05; done; echo second`;
  const running = finished(
    stage.start(["run-job"], JSON.stringify(script("one", text, { secrets: { KEY: secret } }))),
  );
  await eventually("it runs", () => existsSync(join(stage.stateDir, "jobs/one.json")));
  const child = stage.start(["job-log", "--job-id", "one", "--follow"]);
  let shown = "";
  child.stdout!.on("data", (piece) => {
    shown += piece;
  });
  const following = finished(child);
  await eventually("the first line is shown", () => shown === "first\n");
  expect(stage.state("jobs", "one")).toMatchObject({ status: "running", completed_at: null });
  writeFileSync(go, "");
  expect(await following).toEqual({ code: 0, stdout: "first\nsecond\n", stderr: `${stars}\n` });
  expect((await running).code).toBe(0);
});

test("agent-log and worker-log show the last lines, those with a text, and those of rotated files", async () => {
  for (const id of ["one", "two"]) await stage.runJob(odd(id, "echo"));
  await stage.runJob(odd("three", "never", { timeout_sec: 1 }));
  // Another process writes that, before or after the last line about the job.
  await eventually("the end of the worker is in the log", () =>
    stage.log("agent.log").includes("was killed by SIGTERM"),
  );
  const all = (await stage.run(["agent-log"])).stdout.trimEnd().split("\n");
  for (const line of all) expect(line).toMatch(new RegExp(`job=(one|two|three)|worker=http_${port}`));
  const grepped = (await stage.run(["agent-log", "--grep", "job=two"])).stdout.trimEnd().split("\n");
  expect(grepped).toEqual(all.filter((line) => line.includes("job=two")));
  expect(grepped.length).toBeGreaterThan(1);
  const last = await stage.run(["agent-log", "--tail", "1"]);
  expect(last.stdout).toBe(`${all.at(-1)}\n`);
  expect(all.filter((line) => line.includes("job=three ended"))).toHaveLength(1);
  expect(stage.log("agent.err.log")).toContain(`job=three worker=http_${port} stopped`);

  const log = join(stage.logDir, "workers", "http_1.log");
  writeFileSync(`${log}.1`, "old\n");
  writeFileSync(log, "new\nnewest\n");
  expect((await stage.run(["worker-log", "--port", "1"])).stdout).toBe("old\nnew\nnewest\n");
  expect((await stage.run(["worker-log", "--port", "1", "--tail", "2"])).stdout).toBe("new\nnewest\n");
});

test.each([
  [["job-log", "--job-id", "missing"], 1, "this agent has no job missing"],
  [["job-log", "--job-id", "../x"], 1, "--job-id: must be 1 to 200 letters"],
  [["stop-job", "--job-id", "missing"], 1, "this agent has no job missing"],
  [["job-log"], 2, "--job-id"],
  [["worker-log", "--port", "1"], 1, "this agent has no worker on port 1"],
  [["worker-log", "--port", "x"], 2, "must be a whole number"],
  [["agent-log", "--tail", "-1"], 2, "must be a whole number"],
  [["surprise"], 2, "unknown command"],
])("%j ends with %i and says why", async (words, code, message) => {
  const run = await stage.run(words);
  expect(run).toMatchObject({ code, stdout: "" });
  expect(run.stderr).toContain(message);
});
