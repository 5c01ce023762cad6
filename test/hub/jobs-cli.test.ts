import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import {
  cancelledJob,
  claimJob,
  completedJob,
  failedJob,
  freshName,
  jobReader,
  quarantinedJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const tokens = tokensOf(hub);
const view = jobReader(hub);

/** Over HTTP with a token, and over gRPC with the home's certificate: both must say the same. */
const ways = [
  ["a token", () => ({ WRIT_HOME: hub.home, WRIT_TOKEN: hub.admin })],
  ["a certificate", () => ({ WRIT_HOME: hub.home, WRIT_USER: "root" })],
] as const;

function jobctl(...args: string[]): Promise<CliRun> {
  return runCli("jobctl", args, { env: ways[0][1]() });
}

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

test.each([
  [["list", "--failed", "--dead"], /--failed and --dead: give only one of them/],
  [["list", "--since", "yesterday-ish"], /--since/],
  [["stop"], /give the id of a job, or --all/],
  [["retry", "abcdef", "--all"], /give the id of one job, or --all, not both/],
  [["stop", "abcdef", "--type", "x"], /--type: only with --all/],
  [["stop", "--all", "--state", "exited"], /--state/],
])("C4: jobctl %j is refused in one line", async (args, message) => {
  const run = await jobctl(...args);
  expect(run).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  expect(run.stderr.trim().split("\n")).toHaveLength(1);
});

test.each(ways)("C4: failed work is found by state, user, time and text, with %s", async (_, env) => {
  const type = freshName("find");
  const failed = await failedJob(hub, { type });
  const dead = await quarantinedJob(hub, { type });
  const stopped = await cancelledJob(hub, { type });
  const done = await completedJob(hub, { type });
  const mine = await submitJob(hub, { token: tokens.alice, type });
  const ids = async (...args: string[]) => {
    const { stdout } = await runCli("jobctl", ["list", "--json", "--type", type, ...args], { env: env() });
    return lines(stdout).map((job) => job["job_id"]);
  };
  expect(await ids("--failed")).toEqual([dead.id, failed.id]);
  expect(await ids("--dead")).toEqual([dead.id]);
  expect(await ids("--state", "stopped")).toEqual([stopped.id]);
  expect(await ids("--user", "alice")).toEqual([mine.id]);
  expect(await ids("--search", done.id.slice(-9))).toEqual([done.id]);
  expect(await ids("--since", "1h")).toHaveLength(5);
  expect(await ids("--until", "1h")).toEqual([]);
});

test.each(ways)(
  "a job that is over is refused to stop with the state that list shows, with %s",
  async (_, env) => {
    const { id } = await cancelledJob(hub);
    const run = await runCli("jobctl", ["stop", id], { env: env() });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toBe(
      "jobctl: the job cannot be stopped: it is already STOPPED; `jobctl status ID` shows the job's state\n",
    );
  },
);

test.each(ways)("C4: a job that waits for its retry shows why and when, with %s", async (_, env) => {
  const type = freshName("waiting");
  const { id } = await submitJob(hub, { type, max_attempts: 3 });
  const workerId = await registerWorker(hub, { types: [type] });
  const { fence } = await claimJob(hub, { workerId, type });
  const body = { ...fence, reason: "the disk is full" };
  await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
  const run = (...args: string[]) => runCli("jobctl", args, { env: env() });

  const list = await run("list", "--type", type);
  expect(list.stdout).toMatch(/ QUEUED .* 1 of 3 .* retry when a worker is free: the disk is full$/m);
  const status = await run("status", id);
  expect(status.stdout).toMatch(/^attempts +1 of 3$/m);
  expect(status.stdout).toMatch(/^last error +the disk is full$/m);
  expect(status.stdout).toMatch(/^next try +\d{4}-\d\d-\d\dT\S+Z$/m);
  const [json] = lines((await run("status", id, "--json")).stdout);
  expect(json).toMatchObject({ attempts: 1, max_attempts: 3, last_error: "the disk is full" });
  expect(json!["retry_at"]).toBe((await view(id)).run_at);
});

test.each(ways)(
  "a job that failed shows its code and the last line of stderr, and where the rest is, with %s",
  async (_, env) => {
    const type = freshName("broken");
    const { id, fence } = await runningJob(hub, { type, max_attempts: 1 });
    const stderr = Buffer.from("reading\nno such table: users\n").toString("base64");
    const failure = { code: "WORKER_EXIT_ERROR", exit_code: 3, reason: "exited with code 3" };
    const body = { ...fence, ...failure, small_output: { stdout: "", stderr } };
    await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
    const run = async (...args: string[]) => (await runCli("jobctl", args, { env: env() })).stdout;

    for (const command of ["status", "why"]) {
      const shown = await run(command, id);
      expect(shown).toMatch(/^failure +EXECUTION_ERROR, WORKER_EXIT_ERROR$/m);
      expect(shown).toMatch(/^last line +no such table: users$/m);
      expect(shown).toContain(`\`jobctl stream --stderr ${id.slice(-8)}\` prints all of it`);
    }
    expect(await run("list", "--type", type)).toContain(
      "exited with code 3: no such table: users (WORKER_EXIT_ERROR)\n",
    );
    expect(await run("stream", "--stderr", id.slice(-8))).toBe("reading\nno such table: users\n");
  },
);

test.each(ways)("a job's status shows how it runs, with %s", async (_, env) => {
  const checksum = "ab".repeat(32);
  const url = "https://files.example/solve";
  const solver = await submitJob(hub, { run: { kind: "solver", url, checksum } });
  const served = { kind: "persistent_http", worker_command: ["./serve"], port: 8080, container: "images" };
  const http = await submitJob(hub, { run: served });
  const run = (...args: string[]) => runCli("jobctl", args, { env: env() });

  const shown = (await run("status", solver.id)).stdout;
  expect(shown).toMatch(/^kind +solver$/m);
  expect(shown).toMatch(new RegExp(`^solver +${url}$`, "m"));
  expect(shown).toMatch(new RegExp(`^checksum +${checksum}$`, "m"));
  const [json] = lines((await run("status", http.id, "--json")).stdout);
  const facts = { kind: "persistent_http", port: 8080, container: "images", agent: null, solver_url: null };
  expect(json).toMatchObject(facts);
});

test("C4: a job has one shape and one vocabulary in every command, over HTTP and gRPC", async () => {
  const type = freshName("shape");
  const { id } = await failedJob(hub, { type });
  const shapes: unknown[] = [];
  for (const [, env] of ways) {
    for (const args of [
      ["list", "--json", "--type", type],
      ["status", "--json", id],
    ]) {
      const { stdout } = await runCli("jobctl", args, { env: env() });
      shapes.push(lines(stdout)[0]);
    }
  }
  for (const shape of shapes.slice(1)) expect(shape).toEqual(shapes[0]);
  expect(lines((await jobctl("retry", "--json", id)).stdout)).toEqual([{ job_id: id, state: "QUEUED" }]);
  const submitted = await jobctl("submit", type, "--json");
  expect(lines(submitted.stdout)).toEqual([{ job_id: expect.any(String), state: "QUEUED" }]);
  const stopped = await jobctl("stop", "--json", id);
  expect(Object.keys(lines(stopped.stdout)[0]!)).toEqual(Object.keys(shapes[0] as object));
  const submit = ["submit", type, "--json", "--idempotency-key", freshName("key")];
  const [first] = lines((await jobctl(...submit)).stdout);
  await jobctl("stop", String(first!["job_id"]));
  const waited = await jobctl(...submit, "--wait");
  expect(waited.code).toBe(1);
  expect(lines(waited.stdout)[0]).toMatchObject({ job_id: first!["job_id"], state: "STOPPED" });
  expect(Object.keys(lines(waited.stdout)[0]!)).toEqual([...Object.keys(shapes[0] as object), "result"]);
});

test("C4: many jobs are retried or stopped after a count and a yes, and never without one", async () => {
  const type = freshName("many");
  const failed = [await failedJob(hub, { type }), await quarantinedJob(hub, { type })];
  const stopped = await cancelledJob(hub, { type });
  const states = () => Promise.all(failed.map(async ({ id }) => (await view(id)).status));

  expect(await jobctl("retry", "--all", "--type", type)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^jobctl: Retry 2 jobs\? There is no terminal to ask at; give --yes/),
  });
  const asked = (typed: string, ...args: string[]) =>
    runCli("jobctl", [...args, "--all", "--type", type], { env: ways[0][1](), typed });
  expect(await asked("\n", "retry")).toMatchObject({ code: 1, stdout: "" });
  expect(await states()).toEqual(["failed", "quarantined"]);

  expect(await asked("y\n", "retry")).toMatchObject({ code: 0, stdout: "2 of 2 jobs are QUEUED again\n" });
  expect(await states()).toEqual(["pending", "pending"]);
  expect((await view(stopped.id)).status).toBe("failed");

  const stop = await jobctl("stop", "--all", "--type", type, "--yes", "--json");
  expect(lines(stop.stdout)).toEqual([{ matched: 2, done: 2, left: [], more: false }]);
  expect(await states()).toEqual(["failed", "failed"]);
  expect(await jobctl("stop", "--all", "--type", type, "--yes")).toMatchObject({ stdout: "no jobs match\n" });
});

test.each(ways)("C7: a cut list shows the total, with %s", async (_, env) => {
  const type = freshName("cut");
  for (let index = 0; index < 3; index++) await submitJob(hub, { type });
  const run = (...args: string[]) => runCli("jobctl", ["list", "--type", type, ...args], { env: env() });
  const cut = await run("--limit", "2");
  expect(cut.stderr).toBe("2 of 3; --all shows the rest\n");
  expect(cut.stdout.trim().split("\n")).toHaveLength(3);
  expect((await run("--limit", "3")).stderr).toBe("");
  const all = await run("--all");
  expect(all.stderr).toBe("");
  expect(all.stdout.trim().split("\n")).toHaveLength(4);
});

test("verify reports whether a job without a receipt can still get one", async () => {
  const waiting = await submitJob(hub);
  const { id: ended } = await cancelledJob(hub);
  expect(await jobctl("verify", waiting.id)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(`job ${waiting.id} has no receipt yet`),
  });
  expect(await jobctl("verify", ended)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(`job ${ended} has ended without a receipt`),
  });
});

test("a list of a state that few jobs have asks for whole pages, however few jobs are wanted", async () => {
  const type = freshName("rare");
  for (let made = 0; made < 30; made++) await cancelledJob(hub, { type });
  const failed = await failedJob(hub, { type });
  for (let made = 0; made < 10; made++) await cancelledJob(hub, { type });
  const before = await listCalls();
  const run = await jobctl("list", "--json", "--type", type, "--state", "failed", "--limit", "2");
  expect(lines(run.stdout).map((job) => job["job_id"])).toEqual([failed.id]);
  expect((await listCalls()) - before).toBe(1);
});

test.each(ways)(
  "a list of more jobs than are wanted ends at the limit and says so, with %s",
  async (_, env) => {
    const type = freshName("many");
    for (let made = 0; made < 3; made++) await submitJob(hub, { type });
    const run = await runCli("jobctl", ["list", "--json", "--type", type, "--limit", "2"], { env: env() });
    expect(lines(run.stdout)).toHaveLength(2);
    expect(run.stderr).toBe("2 of 3; --all shows the rest\n");
  },
);

/** How often jobs were listed over HTTP. */
async function listCalls(): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  const series = 'writ_http_requests_total{method="GET",route="/jobs",status="200"} ';
  return Number(text.split(series)[1]?.split("\n")[0] ?? 0);
}

test.each(ways)(
  "a job that cannot be followed is named, and no advice says to attach to it, with %s",
  async (_, env) => {
    const id = "00000000-0000-4000-8000-000000000000";
    const run = await runCli("jobctl", ["attach", id], { env: env() });
    expect(run).toMatchObject({ code: 125, stdout: "" });
    expect(run.stderr).toBe(`jobctl: there is no job ${id}; \`jobctl list\` shows your jobs\n`);
  },
);

test("a job of another user that cannot be followed is named", async () => {
  const { id } = await submitJob(hub, { token: tokens.alice });
  const run = await runCli("jobctl", ["attach", id], {
    env: { WRIT_HOME: hub.home, WRIT_TOKEN: tokens.bob },
  });
  expect(run.code).toBe(125);
  expect(run.stderr).toMatch(`jobctl: job ${id}: the job belongs to another user; `);
  expect(run.stderr).not.toContain("jobctl attach");
});

test.each(ways)("with --json the hub's error has its request id, with %s", async (_, env) => {
  const id = "00000000-0000-4000-8000-000000000000";
  const run = await runCli("jobctl", ["status", id, "--json"], { env: env() });
  const { error } = JSON.parse(run.stderr) as { error: Record<string, string> };
  expect(error).toMatchObject({ code: "NOT_FOUND", request_id: expect.any(String) });
});
