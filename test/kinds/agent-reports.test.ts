import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { AgentStage, finished } from "./agent-stage.ts";

let stage: AgentStage;
beforeEach(() => {
  stage = new AgentStage();
});
afterEach(() => stage.remove());

const job = (fields: object = {}) => ({
  job_id: "one",
  job_class: "x",
  worker_command: ["sh", "-c", "echo '{}'"],
  interface: { kind: "exec_per_job" },
  ...fields,
});
const names = { job_id: "one", job_class: "x" };

test.each<[string, object | string, string, object]>([
  ["no payload", "", "a JSON value was expected", { job_id: "", job_class: "" }],
  ["no JSON", "nonsense", "the payload is not JSON", { job_id: "" }],
  ["no object", "[1]", "payload: ", { job_id: "" }],
  ["nothing in it", {}, "payload.job_id", { job_id: "" }],
  [
    "a path as id",
    job({ job_id: "../x" }),
    "payload.job_id: must be 1 to 200",
    { job_id: "", job_class: "x" },
  ],
  [
    "a wrong class",
    job({ job_class: "a b" }),
    "payload.job_class: must be",
    { job_id: "one", job_class: "" },
  ],
  ["no command", job({ worker_command: [] }), "payload.worker_command: must name a command", names],
  ["a NUL in the command", job({ worker_command: ["a\0b"] }), "payload.worker_command.0: must not", names],
  ["an unknown kind", job({ interface: { kind: "x" } }), "exec_per_job or persistent_http", names],
  ["a wrong port", job({ interface: { kind: "persistent_http", port: 0 } }), "payload.interface.port", names],
  ["a wrong time", job({ timeout_sec: -1 }), "payload.timeout_sec: must be a whole number", names],
  ["a wrong name of a secret", job({ secrets: { "A=B": "x" } }), "must be a variable name", names],
  ["a NUL in a secret", job({ secrets: { A: "a\0b" } }), "payload.secrets.A: must not contain a NUL", names],
  [
    "too large an input",
    job({ job_input: "x".repeat(100_000) }),
    "payload.job_input: must be at most",
    names,
  ],
  ["a token without a hub", job({ job_token: "x" }), "platform_url and job_token", names],
  ["an unknown field", job({ surprise: 1 }), 'Unrecognized key: "surprise"', names],
])("%s: the report names the field and, if it is good, the job", async (_, payload, message, named) => {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const { code, stdout } = await stage.run(["run-job"], text);
  expect(code).toBe(125);
  expect(stdout).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(stdout)).toMatchObject({ success: false, exit_code: 125, ...named });
  expect(JSON.parse(stdout).error.message).toContain(message);
});

test.each([
  [["--payload-bas64", "x"], "unknown option"],
  [["--payload-file"], "argument missing"],
  [["--payload-file", "/no/such/file"], "--payload-file: /no/such/file cannot be read: ENOENT"],
  [["--payload-base64", "?"], "--payload-base64: the value is not base64"],
  [["--payload-base64", "e30=", "--payload-file", "x"], "exclude each other"],
  [["surprise"], "too many arguments"],
])("run-job %j is reported in one line, too", async (words, message) => {
  const { code, stdout } = await stage.run(["run-job", ...words]);
  expect(code).toBe(125);
  expect(stdout).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(stdout).error.message).toContain(message);
});

test.each([
  ["WRIT_AGENT_LOG_ROTATION_MAX_FILES", "x", "use a whole number from 1 to 1000"],
  ["WRIT_AGENT_STATE_DIR", "/dev/null/state", "/dev/null/state/jobs cannot be written: ENOTDIR"],
  ["WRIT_AGENT_STATE_DIR", "/proc/x", "/proc/x cannot be written: ENOENT"],
  ["WRIT_AGENT_LOG_DIR", "/proc/x/y", "/proc/x cannot be written: ENOENT"],
])("%s=%s is reported in one line", async (name, value, message) => {
  const other = new AgentStage({ [name]: value });
  onTestFinished(() => other.remove());
  const report = await other.runJob(job());
  expect(report).toMatchObject({ code: 125, ...names, error: { code: "CONFIG_INVALID" } });
  expect(report.error?.message).toContain(message);
});

test("output that could not be relayed, because its file was removed, is reported when the job has ended", async () => {
  const [gone, done] = [join(stage.dir, "gone"), join(stage.dir, "done")];
  const agent = join(import.meta.dirname, "../../bin/writ-agent");
  const child = spawn(agent, ["run-job", "--relay"], { env: stage.env });
  const script = [
    `rm -r ${stage.logDir}/jobs; : > ${gone}`,
    `while test -e ${gone} && ! test -e ${done}; do sleep 0.01; done`,
  ];
  // Its standard input stays open: the end of that would end the job.
  child.stdin.write(`${JSON.stringify(job({ worker_command: ["sh", "-c", script.join("\n")] }))}\n`);
  const ended = finished(child);
  await eventually("the logs are gone", () => existsSync(gone));
  writeFileSync(done, "");
  const { code, stdout } = await ended;
  expect(stdout).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(stdout)).toMatchObject({
    ...names,
    success: false,
    error: { code: "OUTPUT_UNAVAILABLE" },
  });
  expect(code).toBe(125);
  expect(stage.state("jobs", "one")).toMatchObject({ status: "failed" });
});

const isRoot = process.getuid?.() === 0;
const full = test.skipIf(!isRoot);

/** The log directory is a file system of its own, seen by the agent alone. */
async function withSmallDisk(payload: object, { fill }: { fill: boolean }) {
  mkdirSync(stage.logDir);
  const steps = [
    `mount -t tmpfs -o size=64k none ${stage.logDir}`,
    `mkdir ${stage.logDir}/jobs`,
    ...(fill ? [`{ head -c 1M /dev/zero > ${stage.logDir}/fill 2>/dev/null; true; }`] : []),
    'exec "$0" run-job',
  ];
  const agent = join(import.meta.dirname, "../../bin/writ-agent");
  const child = spawn("unshare", ["--mount", "sh", "-c", steps.join(" && "), agent], { env: stage.env });
  child.stdin.end(JSON.stringify(payload));
  const { code, stdout } = await finished(child);
  return { code, report: JSON.parse(stdout) };
}

full.each([
  ["full from the start", "echo hello; echo '{}'", true],
  ["filled by the job", "seq 100000; echo '{}'", false],
  ["filled by a job that does not mind", "seq 100000 || true; exit 0", false],
])("a disk for logs that is %s is the agent's failure, not the job's", async (_, script, fill) => {
  const { code, report } = await withSmallDisk(job({ worker_command: ["sh", "-c", script] }), { fill });
  expect(code).toBe(125);
  expect(report).toMatchObject({ ...names, success: false, error: { code: "STORE_UNAVAILABLE" } });
  expect(report.error.message).toContain(`could not be written: ENOSPC; make room in ${stage.logDir}/jobs`);
  expect(stage.state("jobs", "one")).toMatchObject({
    status: "failed",
    error: { code: "STORE_UNAVAILABLE" },
  });
});

full("a job that writes nothing is not hindered by a full disk for logs", async () => {
  const quiet = job({ worker_command: ["sh", "-c", 'echo 42 > "$JOB_RESULT_FILE"'] });
  const { code, report } = await withSmallDisk(quiet, { fill: true });
  expect(code).toBe(0);
  expect(report).toMatchObject({ success: true, result: 42 });
});
