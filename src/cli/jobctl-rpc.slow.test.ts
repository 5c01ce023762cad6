import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { jobStatus, type RpcService, refusal, startTinyRpcHub } from "../../test/support/tiny-rpc-hub.ts";
import { findRpc } from "../client/grpc/find-rpc.ts";
import type { startJobRequest } from "../contract/gen/writ/v1/job_service.ts";
import type { GrpcStatus } from "../core/errors.ts";
import type { MessageOf } from "../runtime/grpc/wire-message.ts";
import { createContext } from "./create-context.ts";
import { runJobctl } from "./jobctl/program.ts";

const jobctlFile = fileURLToPath(new URL("./jobctl.ts", import.meta.url));
const id = "01890000-0000-7000-8000-000000000001";

type Run = { exitCode: number; stdout: string; stderr: string };

async function withHub(service: RpcService) {
  const hub = await startTinyRpcHub(service);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const env = { WRIT_HOME: hub.home, SECRET: "s3cret" };
  return {
    hub,
    env,
    run: (args: string[], isTTY = false) => runHere(args, env, isTTY),
    spawn: (args: string[]) => runThere(args, env),
  };
}

/** Runs the program in this process; what it does with its process is tested by `runThere`. */
async function runHere(args: string[], env: Record<string, string>, isTTY: boolean): Promise<Run> {
  const [stdout, stderr] = [collectText(isTTY), collectText(isTTY)];
  const view = { argv: ["node", "jobctl", ...args], env, execPath: "", cwd: () => "/" };
  const exitCode = await runJobctl(createContext("jobctl", { ...view, stdout, stderr } as never));
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

function collectText(isTTY: boolean) {
  const write = (data: string | Uint8Array): boolean => {
    sink.text += Buffer.from(data as string).toString();
    return true;
  };
  const sink = { isTTY, text: "", on: () => sink, write };
  return sink;
}

function runThere(args: string[], env: Record<string, string>): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, [jobctlFile, ...args], { env }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const oneLine = /^jobctl: [^\n]+\n$/;

/** A job that has said these things and ended so. */
function endedJob(
  fields: Parameters<typeof jobStatus>[0],
  said: { out?: string; err?: string } = {},
): RpcService {
  const { out = "", err = "" } = said;
  const sizes = { stdout_bytes: Buffer.byteLength(out), stderr_bytes: Buffer.byteLength(err) };
  return {
    startJob: () => ({ job_id: id }),
    getStatus: () => jobStatus({ ended_at: 1, ...sizes, ...fields }),
    async *streamOutput({ stream, attempt }) {
      const text = stream === "STDERR" ? err : out;
      if (text !== "") yield { data: Buffer.from(text), offset: 0, attempt };
    },
  };
}

function refusing(status: GrpcStatus): RpcService {
  const refuse = (): never => {
    throw refusal(status, "it may not be");
  };
  return { startJob: refuse, getStatus: refuse, stopJob: refuse, listJobs: refuse };
}

test.each<[string, GrpcStatus, number]>([
  ["status", "NOT_FOUND", 4],
  ["status", "PERMISSION_DENIED", 5],
  ["stream", "PERMISSION_DENIED", 5],
  ["stop", "FAILED_PRECONDITION", 1],
  ["stop", "UNAUTHENTICATED", 5],
  ["attach", "NOT_FOUND", 125],
])("%s refused with %i is exit code %i and one line", async (name, code, expected) => {
  const { run } = await withHub(refusing(code));
  const { exitCode, stdout, stderr } = await run([name, id]);
  expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
  expect(stderr).toMatch(oneLine);
});

test.each([
  ["start", 5],
  ["run", 125],
])("%s of a command that is not allowed is exit code %i", async (name, expected) => {
  const { run } = await withHub(refusing("PERMISSION_DENIED"));
  const { exitCode, stderr } = await run([name, "rm", "-rf"]);
  expect(exitCode).toBe(expected);
  expect(stderr).toMatch(oneLine);
});

test.each([[["run"]], [["run", "--nonsense", "ls"]], [["run", "ls", "--cpu"]], [["attach"]]])(
  "wrong use is exit code 125 where all others are a job's: %j",
  async (args) => {
    const { run } = await withHub({});
    expect((await run(args)).exitCode).toBe(125);
  },
);

test("a hub that is gone is exit code 6, and 125 for run", async () => {
  const { hub, run } = await withHub({});
  rmSync(join(hub.home, "hub.json"));
  expect(await run(["list"])).toMatchObject({ exitCode: 6, stderr: expect.stringMatching(oneLine) });
  expect(await run(["run", "ls"])).toMatchObject({ exitCode: 125, stderr: expect.stringMatching(oneLine) });
});

test("an end of an id that several share is exit code 2 and lists them", async () => {
  const ids = ["0f000000-0000-7000-8000-00000abcdef0", "0f100000-0000-7000-8000-00000abcdef0"];
  const { run } = await withHub({ listJobs: () => ({ jobs: ids.map((job_id) => jobStatus({ job_id })) }) });
  const { exitCode, stderr } = await run(["status", "abcdef0"]);
  expect(exitCode).toBe(2);
  for (const each of ids) expect(stderr).toContain(each);
});

test("start sends the words and the limits, and prints the id", async () => {
  let seen: MessageOf<typeof startJobRequest> | undefined;
  const { run } = await withHub({
    startJob: (request) => {
      seen = request;
      return { job_id: id };
    },
  });
  const own = ["--env", "A=b=c", "--env", "SECRET", "--cwd", "/work", "--attempts", "2"];
  const words = [
    "ls",
    "/",
    "--mem=100M",
    "-lah",
    "--cpu",
    "500m",
    "--timeout",
    "1500ms",
    "--tag",
    "a",
    "--json",
  ];
  expect(await run(["start", ...own, ...words])).toEqual({ exitCode: 0, stdout: `${id}\n`, stderr: "" });
  expect(seen).toMatchObject({
    command: ["ls", "/", "-lah", "--json"],
    limits: { cpu: "500m", memory: "100M", io: "", pids: 0, network: "" },
    env: { A: "b=c", SECRET: "s3cret" },
    cwd: "/work",
    timeout_sec: 2,
    requires: { tags: ["a"] },
    max_attempts: 2,
  });
  expect((await run(["--json", "start", "ls"])).stdout).toBe(`{"job_id":"${id}"}\n`);
});

test.each<[Parameters<typeof jobStatus>[0], number, string]>([
  [{ state: "EXITED", exit_code: 0 }, 0, ""],
  [{ state: "EXITED", exit_code: 7, reason: "exited with code 7" }, 7, ""],
  [{ state: "FAILED", exit_code: 139, reason: "killed by SIGSEGV" }, 139, "killed by SIGSEGV"],
  [{ state: "FAILED", exit_code: 127, reason: "command not found: x" }, 127, "command not found: x"],
  [{ state: "FAILED", exit_code: 126, reason: "permission denied: x" }, 126, "permission denied: x"],
  [{ state: "FAILED", fail_code: "TIMEOUT", reason: "took too long" }, 124, "took too long"],
  [
    { state: "FAILED", fail_code: "TIMEOUT", fail_detail: "IDLE_TIMEOUT", reason: "said nothing" },
    124,
    "said nothing",
  ],
  [{ state: "FAILED", fail_code: "TIMEOUT", exit_code: 137, reason: "took too long" }, 124, "took too long"],
  [{ state: "FAILED", fail_code: "INVALID_JOB", reason: "TIMEOUT" }, 125, "TIMEOUT"],
  [{ state: "FAILED", fail_code: "A_NEWER_CODE", reason: "ran longer than 1 s" }, 125, "ran longer than 1 s"],
  [{ state: "FAILED", fail_code: "WORKER_DISCONNECTED", reason: "no heartbeat" }, 125, "no heartbeat"],
  [{ state: "STOPPED", reason: "stopped" }, 143, "the job was stopped"],
])("run of a job that ended as %j is exit code %i", async (fields, expected, says) => {
  const { run } = await withHub(endedJob(fields, { out: "out\n", err: "err\n" }));
  expect(await run(["run", "x"])).toEqual({
    exitCode: expected,
    stdout: "out\n",
    stderr: `err\n${says === "" ? "" : `jobctl: ${says}\n`}`,
  });
});

test("run makes four calls: the start, both outputs, and one status", async () => {
  const calls: string[] = [];
  const service = endedJob({ state: "EXITED", exit_code: 0 }, { out: "hi\n" });
  const counted = Object.entries(service).map(([name, method]) => [
    name,
    (...args: never[]) => {
      calls.push(name);
      return (method as (...args: never[]) => unknown)(...args);
    },
  ]);
  const { run } = await withHub(Object.fromEntries(counted));
  expect(await run(["run", "echo", "hi"])).toEqual({ exitCode: 0, stdout: "hi\n", stderr: "" });
  expect(calls.toSorted()).toEqual(["getStatus", "startJob", "streamOutput", "streamOutput"]);
});

test("run --detach prints the id and waits for nothing", async () => {
  const { run } = await withHub({ startJob: () => ({ job_id: id }) });
  expect(await run(["run", "--detach", "sleep", "1"])).toEqual({
    exitCode: 0,
    stdout: `${id}\n`,
    stderr: "",
  });
});

test("job output is exact to the byte in a pipe, harmless on a terminal, and as it is with --raw", async () => {
  const out = "\x1b[31mred\x1b[0m\r\n\x00\u202e";
  const { run, spawn } = await withHub(endedJob({ state: "EXITED", exit_code: 0 }, { out }));
  for (const args of [
    ["stream", id],
    ["run", "x"],
    ["attach", id],
  ]) {
    expect((await spawn(args)).stdout).toBe(out);
    expect((await run(args, true)).stdout).toBe("red\n\\x00\\u202e");
    expect((await run([args[0]!, "--raw", ...args.slice(1)], true)).stdout).toBe(out);
  }
});

test("stream continues with the next attempt and prints a line about it", async () => {
  let attempt = 1;
  const { run } = await withHub({
    getStatus: () => jobStatus(attempt === 1 ? { state: "QUEUED", attempt } : { state: "EXITED", attempt }),
    async *streamOutput(request) {
      attempt = request.attempt;
      yield { data: Buffer.from(`try ${attempt}\n`), offset: 0, attempt };
    },
  });
  const { stdout, stderr } = await run(["stream", id]);
  expect(stdout).toBe("try 1\ntry 2\n");
  expect(stderr).toBe("jobctl: attempt 1 has ended; following attempt 2\n");
});

test("stream as JSON is one object for each chunk", async () => {
  const { run } = await withHub(endedJob({ state: "EXITED" }, { err: "oh" }));
  expect(JSON.parse((await run(["stream", "--stderr", "--json", id])).stdout)).toEqual({
    stream: "stderr",
    attempt: 1,
    offset: 0,
    data: Buffer.from("oh").toString("base64"),
  });
});

test("status shows which walls the job had and which not, and nothing that steers a terminal", async () => {
  const { run } = await withHub({
    getStatus: () =>
      jobStatus({
        command: ["sh", "-c", "echo it's \x1b[2J"],
        limits: {
          cpu: "500m",
          memory: "100M",
          io: "low",
          pids: 512,
          network: "host",
        },
        isolation: {
          level: "best-effort",
          applied: ["memory", "pids"],
          missing: [{ part: "io", why: "no io controller" }],
          cgroup: "/sys/fs/cgroup/writ/jobs/1",
        },
        usage: { cpu_ms: 1500, memory_peak_bytes: 3_000_000, oom: false },
      }),
  });
  const { stdout } = await run(["status", id]);
  expect(stdout).toContain("sh -c 'echo it'\\''s \\x1b[2J'");
  expect(stdout).toMatch(/^limits +cpu 500m, memory 100M, io low, pids 512, network host$/m);
  expect(stdout).toMatch(/^applied +memory, pids$/m);
  expect(stdout).toMatch(/^missing io +no io controller$/m);
  expect(stdout, "B11").toMatch(/^cgroup +\/sys\/fs\/cgroup\/writ\/jobs\/1$/m);
  expect(stdout).toMatch(/^used +1\.5s of CPU time, memory peak 2\.9 MiB$/m);
  expect(JSON.parse((await run(["status", "--json", id])).stdout)).toMatchObject({
    job_id: id,
    state: "RUNNING",
    exit_code: null,
    fail_code: null,
    fail_detail: null,
  });
});

test("list shows a table of harmless cells; as JSON one job per line", async () => {
  const { run } = await withHub({
    listJobs: ({ state }) => ({
      jobs: state === "FAILED" ? [] : [jobStatus({ command: ["\x1b[2J"] }), jobStatus()],
    }),
  });
  const table = (await run(["list"])).stdout.split("\n");
  expect(table[0]).toMatch(/^ID +STATE/);
  expect(table[1]).toContain("\\x1b[2J");
  const lines = (await run(["list", "--json"])).stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).job_id)).toEqual([id, id]);
  expect((await run(["list", "--state", "failed"])).stdout).toBe("");
});

test("watch prints a line for each change until Ctrl-C", async () => {
  let progress = 0;
  const { env } = await withHub({
    listJobs: () => ({ jobs: [jobStatus({ progress: progress++ < 1 ? 10 : 60 })] }),
  });
  const child = spawn(process.execPath, [jobctlFile, "watch"], { env });
  let stdout = "";
  child.stdout.on("data", (text) => {
    stdout += text;
    if (stdout.includes("60 %")) child.kill("SIGINT");
  });
  expect(await once(child, "close")).toEqual([0, null]);
  expect(stdout.trimEnd().split("\n")).toEqual([
    "00000001  RUNNING  ##.................. 10 %",
    "00000001  RUNNING  ############........ 60 %",
  ]);
});

test("a hub named by its web address alone is asked at the usual port, unless the home knows it", async () => {
  const { hub } = await withHub({});
  const url = "https://hub.example:3000";
  const find = (options: object) => findRpc({ home: hub.home, user: "tester", ...options });
  expect(await find({ url })).toMatchObject([{ host: "hub.example", port: 50_051 }]);
  expect(await find({ url, address: "a:1" })).toMatchObject([{ host: "a", port: 1 }]);
  const both = [
    { host: "localhost", port: hub.port },
    { host: "hub.example", port: 50_051 },
  ];
  expect(await find({ url: `http://localhost:1, ${url}` })).toMatchObject(both);
  expect(await find({})).toMatchObject([{ host: "127.0.0.1", port: hub.port }]);
});

test("O-26: an error names the gRPC address that failed, the address that was given, and the flag for another", async () => {
  const { run, hub } = await withHub({});
  const given = "https://hub.invalid:3000";
  const { exitCode, stderr } = await run(["--hub", given, "list"]);
  expect(exitCode).toBe(6);
  expect(stderr).toMatch(
    /^jobctl: no hub answers at hub\.invalid:50051, the gRPC address for https:\/\/hub\.invalid:3000 \(E\w+\); if its gRPC address is another one, name it with --grpc HOST:PORT; or use a token, which needs none\n$/,
  );
  const several = (await run(["--hub", `${given},https://b.invalid`, "list"])).stderr;
  for (const address of ["hub.invalid:50051", "b.invalid:50051"]) expect(several).toContain(address);
  expect(several).toContain("; if its gRPC address is another one, name it with --grpc");
  const byFlag = (await run(["--hub", given, "--grpc", "other.invalid:7", "list"])).stderr;
  expect(byFlag).toMatch(
    /^jobctl: no hub answers at other\.invalid:7 \(E\w+\); check the gRPC address .* --grpc/,
  );
  // What jobctl.yaml says is about another hub than the one that was given.
  writeFileSync(join(hub.home, "jobctl.yaml"), "hub: https://old.invalid\ngrpc: old.invalid:50051\n");
  expect((await run(["--hub", given, "list"])).stderr).toBe(stderr);
  expect((await run(["list"])).stderr).toContain("old.invalid:50051");
});
