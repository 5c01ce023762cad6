import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import {
  jobIdNumber,
  jobView,
  type RequestHandler,
  sendError,
  sendJson,
  startTinyHub,
} from "../client/testing/tiny-hub.ts";
import { createContext } from "./create-context.ts";
import { runJobctl } from "./jobctl/program.ts";

const jobctlFile = fileURLToPath(new URL("./jobctl.ts", import.meta.url));

type Run = { exitCode: number; stdout: string; stderr: string };
type RunOptions = { env?: Record<string, string>; input?: string; isTTY?: boolean };

/** Runs the program in this process; what it does with its process is tested by `spawnJobctl`. */
async function jobctl(
  args: string[],
  { env = {}, input = "", isTTY = false }: RunOptions = {},
): Promise<Run> {
  const stdout = collectText(isTTY);
  const stderr = collectText(isTTY);
  const view = {
    argv: ["node", "jobctl", ...args],
    env,
    execPath: "",
    cwd: () => "/",
    stdin: Readable.from([input]),
  };
  const exitCode = await runJobctl(createContext("jobctl", { ...view, stdout, stderr } as never));
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

function collectText(isTTY: boolean) {
  const write = (text: string): boolean => {
    sink.text += text;
    return true;
  };
  const sink = { isTTY, text: "", on: () => sink, write };
  return sink;
}

function spawnJobctl(args: string[], env: Record<string, string>): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, [jobctlFile, ...args], { env }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function makeHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "writ-cli-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

async function withHub(answer: RequestHandler) {
  const hub = await startTinyHub(answer);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const env = { WRIT_HUB_URL: hub.url, WRIT_TOKEN: "sk_user_x", WRIT_HOME: await makeHome() };
  return { hub, env, run: (args: string[], around: RunOptions = {}) => jobctl(args, { env, ...around }) };
}

const oneLine = /^jobctl: [^\n]+\n$/;

test.each([
  [["nonsense"]],
  [["list", "--nonsense"]],
  [["list", "--limit", "many"]],
  [["list", "--state", "asleep"]],
  [["status"]],
  [["retry", "xyz"]],
  [["start"]],
  [["start", "--nonsense", "ls"]],
  [["start", "ls", "--pids", "0"]],
  [["start", "ls", "--timeout", "soon"]],
  [["start", "ls", "--cpu"]],
  [["start", "--env", "NOWHERE", "ls"]],
  [["stream", "--attempt", "0", "12345678"]],
  [["--grpc", "nowhere", "list"]],
  [["submit"]],
  [["submit", "t", "--priority", "11"]],
  [["submit", "--file", "/nowhere.yaml"]],
  [["submit", "--file", "-", "--params", "-"]],
  [["submit", "t", "--timeout", "soon"]],
  [["submit", "t", "--params", "{"]],
  [["submit", "t", "--params", "@/nowhere.json"]],
  [["submit", "t", "--exec"]],
  [["submit", "t", "stray"]],
  [["submit", "t", "--kind", "solver", "--", "x"]],
  [["submit", "t", "--kind", "exec_per_job"]],
  [["submit", "t", "--kind", "persistent_http", "--", "x"]],
  [["submit", "t", "--kind", "exec_per_job", "--port", "80", "--", "x"]],
  [["submit", "t", "--kind", "exec_per_job", "--input-json", "{", "--", "x"]],
  [["submit", "t", "--kind", "exec", "--input-json", "1", "--", "x"]],
  [["submit", "t", "--exec", "--kind", "exec_per_job", "--", "x"]],
  [["submit", "t", "--input-json", "1"]],
  [["submit", "t", "--secret", "KEY"]],
  [["completion", "tcsh"]],
  [["--hub", "ftp://x", "list"]],
])("wrong use is exit code 2 and one line: %j", async (args) => {
  const { exitCode, stdout, stderr } = await jobctl(args, { env: { WRIT_HOME: "/nonexistent" } });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(oneLine);
});

test("the process ends with 2 for wrong use", async () => {
  const { exitCode, stdout, stderr } = await spawnJobctl(["nonsense"], {});
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(oneLine);
});

test("the process ends with 6 and one line when the hub cannot be reached", async () => {
  const env = { WRIT_HUB_URL: "http://127.0.0.1:1", WRIT_HOME: await makeHome() };
  const { exitCode, stderr } = await spawnJobctl(["workers"], env);
  expect(exitCode).toBe(6);
  expect(stderr).toMatch(oneLine);
  expect(stderr).toContain("writ up");
});

test("with an address and no credential, errors are about that address", async () => {
  const env = { WRIT_HOME: await makeHome() };
  const { exitCode, stderr } = await jobctl(["--hub", "http://127.0.0.1:1", "list"], { env });
  expect(exitCode).toBe(6);
  expect(stderr).toContain("no hub can be reached (http://127.0.0.1:1: ECONNREFUSED)");
  const { hub } = await withHub((_request, response) => sendError(response, 401, "UNAUTHENTICATED"));
  const refused = await jobctl(["--hub", hub.url, "list"], { env });
  expect(refused.exitCode).toBe(5);
  expect(refused.stderr).toContain("give a valid token with --token or WRIT_TOKEN");
});

test("a word that other programs have is answered with ours", async () => {
  expect((await jobctl(["logs", "12345678"])).stderr).toBe(
    "jobctl: unknown command 'logs'; use jobctl stream ID, which prints a job's output, live or after it has ended\n",
  );
  expect((await jobctl(["registry", "kill"])).stderr).not.toContain("jobctl stop");
});

test("a home without a hub is exit code 6 and names the home", async () => {
  const home = await makeHome();
  const { exitCode, stderr } = await jobctl(["--home", home, "list"]);
  expect(exitCode).toBe(6);
  expect(stderr).toMatch(oneLine);
  expect(stderr).toContain(home);
});

test.each([
  [404, "NOT_FOUND", 4],
  [401, "UNAUTHENTICATED", 5],
  [403, "PERMISSION_DENIED", 5],
  [409, "STATE_CONFLICT", 1],
])("an answer %i %s is exit code %i", async (status, code, expected) => {
  const { run } = await withHub((_, response) => sendError(response, status, code));
  const { exitCode, stderr } = await run(["retry", jobIdNumber(1)]);
  expect(exitCode).toBe(expected);
  expect(stderr).toMatch(oneLine);
});

test.each([
  [["list", "--json", "--nonsense"], "INVALID_ARGUMENT", 2],
  [["--json", "retry", jobIdNumber(1)], "STATE_CONFLICT", 1],
])("the error of %j is one JSON object", async (args, code, expected) => {
  const { run } = await withHub((_, response) => sendError(response, 409, "STATE_CONFLICT"));
  const { exitCode, stdout, stderr } = await run(args);
  expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
  expect(JSON.parse(stderr)).toMatchObject({ error: { code, message: expect.any(String) } });
});

test("the home's token is shown to the home's hub and to no other", async () => {
  const { hub } = await withHub((_, response) => sendJson(response, 200, []));
  const home = await makeHome();
  await writeFile(join(home, "admin.token"), "sk_admin_secret\n", { mode: 0o600 });
  await writeFile(join(home, "hub.json"), JSON.stringify({ url: "http://127.0.0.1:1" }));

  await jobctl(["--home", home, "--hub", hub.url, "workers"]);
  await writeFile(join(home, "hub.json"), JSON.stringify({ url: hub.url }));
  await jobctl(["--home", home, "workers"]);

  expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, "Bearer sk_admin_secret"]);
});

test("a token in a jobctl.yaml that others can read is refused", async () => {
  const home = await makeHome();
  await writeFile(join(home, "jobctl.yaml"), "token: sk_user_secret\n", { mode: 0o644 });
  const { exitCode, stderr } = await jobctl(["--home", home, "list"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("chmod 600");
  expect(stderr).not.toContain("sk_user_secret");
});

test("submit sends what the flags say, with numbers as they were written, and prints the id", async () => {
  const { hub, run } = await withHub((_, response) =>
    sendJson(response, 201, { id: jobIdNumber(1), status: "pending" }),
  );
  const args = [
    "--priority",
    "9",
    "--attempts",
    "2",
    "--timeout",
    "10m",
    "--idempotency-key",
    "k",
    "--tag",
    "a",
    "--tag",
    "b",
  ];

  const { exitCode, stdout } = await run(["submit", "report", "--params", "-", ...args], {
    input: '{"x": 1.0, "y": [12345678901234567890]}',
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${jobIdNumber(1)}\n` });
  expect(hub.seen[0]?.body).toContain('"params":{"x":1.0,"y":[12345678901234567890]}');
  expect(JSON.parse(hub.seen[0]!.body)).toMatchObject({
    type: "report",
    priority: 9,
    max_attempts: 2,
    timeout_sec: 600,
    idempotency_key: "k",
    requires: { tags: ["a", "b"] },
  });
});

test("every word after -- belongs to the command", async () => {
  const { hub, run } = await withHub((_, response) =>
    sendJson(response, 201, { id: jobIdNumber(1), status: "pending" }),
  );
  await run(["submit", "list", "--exec", "--json", "--", "ls", "-lah", "--home", "/", "--", "--json"]);
  expect(JSON.parse(hub.seen[0]!.body).run).toEqual({
    kind: "exec",
    argv: ["ls", "-lah", "--home", "/", "--", "--json"],
  });
});

test("submit describes a worker, with its input as it was written and its secrets", async () => {
  const { hub, run } = await withHub((_, response) =>
    sendJson(response, 201, { id: jobIdNumber(1), status: "pending" }),
  );
  const submit = (...args: string[]) => run(["submit", "t", ...args, "--", "node", "worker.js"]);
  await submit("--kind", "exec_per_job", "--input-json", '{"scale":1.0}', "--secret", "KEY");
  await submit("--kind", "persistent_http", "--port", "8101");
  expect(hub.seen[0]!.body).toContain('"job_input":{"scale":1.0}');
  expect(hub.seen.map(({ body }) => JSON.parse(body).run)).toEqual([
    {
      kind: "exec_per_job",
      worker_command: ["node", "worker.js"],
      job_input: { scale: 1 },
      secrets: ["KEY"],
    },
    { kind: "persistent_http", port: 8101, worker_command: ["node", "worker.js"] },
  ]);
});

test.each([
  ["a list", "[1, 2]", /--file -:1: must be a mapping/],
  ["broken JSON", '{"type": ', /--file -: not valid JSON/],
  ["broken YAML", "type: a\ntype: b\n", /--file -:2: .*unique/],
  ["a number that JSON does not have", "type: a\nparams: {x: 0x1F}\n", /0x1F/],
  ["an alias", "type: &a x\nparams: *a\n", /alias/],
])("submit --file refuses %s", async (_, input, message) => {
  const { hub, run } = await withHub((_, response) => sendJson(response, 201, {}));
  const { exitCode, stderr } = await run(["submit", "--file", "-"], { input });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(oneLine);
  expect(hub.seen).toEqual([]);
});

test("submit --file sends every field of the file, and what the flags say instead of it", async () => {
  const { hub, run } = await withHub((_, response) =>
    sendJson(response, 201, { id: jobIdNumber(1), status: "pending" }),
  );
  const yaml = `
type: report
timeout_sec: 60
queue_ttl_sec: 30
limits: { cpu: 500m, memory: 64M }
params: { x: 1.0, y: [12345678901234567890], country: no }
run: { kind: exec, argv: [ls, -lah] }
`;
  expect((await run(["submit", "--file", "-"], { input: yaml })).exitCode).toBe(0);
  expect(hub.seen[0]!.body).toContain('"params":{"x":1.0,"y":[12345678901234567890],"country":"no"}');
  expect(JSON.parse(hub.seen[0]!.body)).toMatchObject({
    type: "report",
    timeout_sec: 60,
    queue_ttl_sec: 30,
    run: { kind: "exec", argv: ["ls", "-lah"] },
  });

  const flags = ["--mem", "1G", "--timeout", "1500ms", "--tag", "gpu", "--params", "2.0"];
  const json = JSON.stringify({ type: "report", timeout_sec: 60, limits: { cpu: "2", memory: "64M" } });
  await run(["submit", "digest", "--file", "-", ...flags], { input: json });
  const { job_id: _, ...sent } = JSON.parse(hub.seen[1]!.body);
  expect(sent).toEqual({
    type: "digest",
    max_runtime_ms: 1500,
    limits: { cpu: "2", memory: "1G" },
    requires: { tags: ["gpu"] },
    params: 2,
  });
});

test("submit --wait prints the result on stdout as `result` does, and what is for people on stderr", async () => {
  const result = { sum: 5 };
  const { run } = await withHub(({ method }, response) => {
    if (method === "POST") return sendJson(response, 201, { id: jobIdNumber(1), status: "pending" });
    sendJson(response, 200, jobView({ status: "completed", result }));
  });
  const waited = await run(["submit", "t", "--wait"]);
  expect(waited).toMatchObject({ exitCode: 0, stdout: (await run(["result", jobIdNumber(1)])).stdout });
  expect(JSON.parse(waited.stdout)).toEqual(result);
  expect(waited.stderr).toMatch(new RegExp(`^jobctl: job ${jobIdNumber(1)}\njobctl: EXITED after \\S+\n$`));
  const json = await run(["submit", "t", "--wait", "--json"]);
  expect(json).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(json.stdout)).toMatchObject({ state: "EXITED", result });
});

test("submit --wait is exit code 1 when the job failed, with nothing on stdout", async () => {
  const { run } = await withHub(({ method }, response) => {
    if (method === "POST") return sendJson(response, 201, { id: jobIdNumber(1), status: "pending" });
    sendJson(response, 200, jobView({ status: "failed", fail_reason: "EXECUTION_ERROR" }));
  });
  const { exitCode, stdout, stderr } = await run(["submit", "t", "--wait"]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain(jobIdNumber(1));
  expect(stderr).toContain("EXECUTION_ERROR");
});

test("result prints the result, and is exit code 1 for a job that failed", async () => {
  let job = jobView({ status: "completed", result: { sum: 42 } });
  const { run } = await withHub((_, response) => sendJson(response, 200, job));
  expect(await run(["result", job.id, "--json"])).toEqual({
    exitCode: 0,
    stdout: '{"sum":42}\n',
    stderr: "",
  });

  job = jobView({ status: "failed", fail_reason: "TIMEOUT" });
  expect(await run(["result", job.id])).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringContaining("TIMEOUT"),
  });
});

test("help lists the options of a command whichever way it is asked for", async () => {
  const [one, other] = await Promise.all([jobctl(["help", "submit"]), jobctl(["submit", "--help"])]);
  expect(one).toEqual(other);
  expect(one.stdout).toContain("--params");
  expect(one.exitCode).toBe(0);
});

test("C7: a list of several pages has one header and one set of widths", async () => {
  const { run } = await withHub(({ query }, response) => {
    const isFirst = query.get("cursor") === null;
    if (isFirst) response.setHeader("x-next-cursor", "1");
    sendJson(response, 200, [
      jobView({ id: jobIdNumber(isFirst ? 2 : 1), type: isFirst ? "a.long.type" : "short" }),
    ]);
  });
  const { stdout, exitCode } = await run(["list", "--all"]);
  expect(exitCode).toBe(0);
  const [head, first, second, ...rest] = stdout.trimEnd().split("\n");
  expect([head, rest]).toEqual([expect.stringMatching(/^ID +STATE +AGE /), []]);
  expect(second!.indexOf("short")).toBe(first!.indexOf("a.long.type"));
});

test.each([
  ["--cpu", "abc", "500m"],
  ["--memory", "12X", "at least 4M"],
  ["--io", "fast", "low, med or high"],
  ["--network", "None", "host, closed or none"],
  ["--pids", "0", "from 1 to"],
])("C8: %s %s is refused with the flag, the value and what is allowed", async (flag, value, allowed) => {
  const { exitCode, stderr } = await jobctl(["start", flag, value, "true"], { env: { WRIT_HOME: "/none" } });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(oneLine);
  for (const word of [flag, value, allowed]) expect(stderr).toContain(word);
});

test("C8: the error of a file that cannot be read does not name the list of jobs", async () => {
  const { exitCode, stderr } = await jobctl(["verify", "--bundle", "/nowhere.json"], {
    env: { WRIT_HOME: "/none" },
  });
  expect([exitCode, stderr]).toEqual([4, "jobctl: /nowhere.json cannot be read (ENOENT); check the path\n"]);
});
