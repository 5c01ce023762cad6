import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JobDocument } from "../contract/document.ts";
import type { RunSpec } from "../contract/kinds.ts";
import { Decimal } from "../core/text/json-value.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { plainSandbox } from "../sandbox/plain/plain-sandbox.ts";
import { AttemptSecrets } from "./attempt-secrets.ts";
import { execRunner } from "./exec.ts";
import type { RunContext, RunnerDeps, RunnerSettings, RunOutcome } from "./runner.ts";

let attemptDir: string;
let stop: AbortController;

beforeEach(() => {
  attemptDir = mkdtempSync(join(tmpdir(), "writ-exec-"));
  mkdirSync(join(attemptDir, "work"));
  stop = new AbortController();
});
afterEach(() => rmSync(attemptDir, { recursive: true, force: true }));

const settings = {
  stopGraceMs: 200,
  outputBytesMax: 1000,
  limits: {},
  maxLimits: {},
  handlers: {},
  secrets: {},
};
const deps: RunnerDeps = { settings, sandbox: plainSandbox, clock: systemClock, logger: silentLogger };

type Exec = Extract<RunSpec, { kind: "exec" }>;

/** Masked as the worker does it. */
async function run(
  argv: string[],
  more: Partial<Exec> = {},
  { settings: changed, ...rest }: Partial<RunContext> & { settings?: Partial<RunnerSettings> } = {},
): Promise<RunOutcome> {
  const spec: Exec = { kind: "exec", argv, ...more };
  const secrets = new AttemptSecrets();
  const outcome = await execRunner({ ...deps, settings: { ...settings, ...changed } }).run({
    document: { type: "exec", tenant_id: "default", run: spec } as JobDocument,
    signed: {},
    lease: { job_id: "j", attempt: 2, timeout_sec: 60 } as RunContext["lease"],
    attemptDir,
    workDir: join(attemptDir, "work"),
    signal: stop.signal,
    hurry: new AbortController().signal,
    jobToken: undefined,
    secrets,
    onStarted: async () => {},
    onProcess: () => {},
    reportProgress: () => {},
    writeOutput: () => {},
    writeTrace: () => {},
    ...rest,
  });
  return secrets.maskOutcome(outcome);
}

function shell(script: string, context: Partial<RunContext> = {}): Promise<RunOutcome> {
  return run(["sh", "-c", script], {}, context);
}

function said(stream = "stdout"): string {
  return readFileSync(join(attemptDir, `${stream}.log`), "utf8");
}

test("C5: a command reads the input of its document, or nothing", async () => {
  const bytes = Buffer.from([0, 255, 10, 13]);
  await run(["cat"], { stdin: bytes.toString("base64") });
  expect(readFileSync(join(attemptDir, "stdout.log"))).toEqual(bytes);
  rmSync(join(attemptDir, "stdout.log"));
  await run(["cat"]);
  expect(readFileSync(join(attemptDir, "stdout.log"))).toHaveLength(0);
});

test("C5: a command that does not read its input ends as without input", async () => {
  const stdin = Buffer.alloc(65_536).toString("base64");
  expect(await run(["true"], { stdin })).toMatchObject({ kind: "succeeded", exitCode: 0 });
});

test("a missing command is reported as a shell does it", async () => {
  expect(await run(["no-such-command"])).toMatchObject({
    kind: "failed",
    code: "EXECUTION_ERROR",
    detail: "SPAWN_FAILED",
    exitCode: 127,
    reason: "command not found: no-such-command",
  });
});

test("a file that cannot be executed ends with exit code 126", async () => {
  const file = join(attemptDir, "plain.txt");
  writeFileSync(file, "text");
  chmodSync(file, 0o600);
  expect(await run([file])).toMatchObject({ detail: "SPAWN_FAILED", exitCode: 126 });
});

test("a missing working directory is not reported as a missing command", async () => {
  const outcome = await run(["true"], { cwd: "nowhere" });
  expect(outcome).toMatchObject({
    detail: "SPAWN_FAILED",
    reason: expect.stringContaining("working directory"),
  });
});

test("an exit code other than 0 is a failure with that code, and the result is kept", async () => {
  expect(await shell("echo 41; exit 3")).toMatchObject({
    code: "EXECUTION_ERROR",
    detail: "WORKER_EXIT_ERROR",
    exitCode: 3,
    reason: "exited with code 3",
    partialResultJson: "41",
  });
});

test("a signal from elsewhere is reported by its name", async () => {
  expect(await shell("kill -SEGV $$")).toMatchObject({
    detail: "SIGNALED",
    exitCode: 139,
    reason: "killed by SIGSEGV",
  });
});

test("nothing is executed when the start is refused", async () => {
  const refused = shell("touch ran", {
    onStarted: () => Promise.reject(new Error("lease lost")),
  });
  await expect(refused).rejects.toThrow("lease lost");
  expect(existsSync(join(attemptDir, "work", "ran"))).toBe(false);
});

test("a secret that the worker does not have for this tenant is an invalid job", async () => {
  const secrets = { KEY: { file: join(attemptDir, "key"), tenants: ["other"] } };
  await expect(run(["true"], { secrets: ["KEY"] }, { settings: { secrets } })).rejects.toMatchObject({
    code: "INVALID_JOB",
    detail: "NO_SUCH_SECRET",
  });
});

test("a job that writes too much is ended, and exactly the allowed bytes are kept", async () => {
  expect(await shell("yes | tr -d '\\n'")).toMatchObject({ code: "EXECUTION_ERROR", detail: "OUTPUT_LIMIT" });
  expect(said()).toBe("y".repeat(1000));
});

test("a job that is cancelled is ended with its whole group, although it ignores SIGTERM", async () => {
  const started = Promise.withResolvers<number>();
  const outcome = shell(
    "trap '' TERM; sleep 60 & echo $! > child; echo ready; while :; do sleep 0.02; done",
    {
      onProcess: (pid) => pid > 0 && started.resolve(pid),
    },
  );
  const pid = await started.promise;
  stop.abort("cancelled");
  expect(await outcome).toMatchObject({ kind: "failed", code: "CANCELLED", reason: "cancelled" });
  await untilGone(-pid);
});

test("the environment has exactly the documented variables", async () => {
  const keyFile = join(attemptDir, "key");
  writeFileSync(keyFile, "s3cret\n", { mode: 0o600 });
  const secrets = { KEY: { file: keyFile, tenants: ["default"] } };
  const more = { env: { COLOUR: "red" }, secrets: ["KEY"] };
  await run(["cp", "/proc/self/environ", "seen"], more, { settings: { secrets } });
  const work = join(attemptDir, "work");
  expect(readFileSync(join(work, "seen"), "utf8").split("\0").filter(Boolean).sort()).toEqual([
    "COLOUR=red",
    "HOME=/tmp",
    "JOB_ATTEMPT=2",
    "JOB_ID=j",
    `JOB_INPUT_FILE=${work}/input.json`,
    `JOB_OUTPUT_DIR=${work}/output`,
    `JOB_RESULT_FILE=${work}/result.json`,
    "JOB_TYPE=exec",
    "KEY=s3cret",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  ]);
});

test("A14: a secret is masked in output, result and reason, and the receipt is about the masked bytes", async () => {
  const keyFile = join(attemptDir, "key");
  writeFileSync(keyFile, 'hunter"22\n', { mode: 0o600 });
  const secrets = { KEY: { file: keyFile, tenants: ["default"] } };
  const script = `printf '%s' "$KEY" | base64 >&2; printf 'a%s|' "$KEY"; printf '%s' "$KEY" | base64; "$@"`;
  const runWith = (last: string): Promise<RunOutcome> =>
    run(["sh", "-c", `${script}; ${last}`], { secrets: ["KEY"] }, { settings: { secrets } });

  const done = await runWith(`printf '{"k":["h\\u0075nter\\"22", 1.50]}' > "$JOB_RESULT_FILE"`);
  expect(done).toMatchObject({ kind: "succeeded", resultJson: '{"k":["*********",1.5]}' });
  expect([said(), said("stderr")]).toEqual(["a*********|************\n", "************\n"]);

  const failed = await runWith('printf "[\\"%s\\"]" hunter22 > "$JOB_RESULT_FILE"; exit 3');
  expect(failed).toMatchObject({ reason: "exited with code 3", partialResultJson: '["hunter22"]' });
  const unusable = await runWith('printf "%s" "$KEY" > "$JOB_RESULT_FILE"');
  expect(JSON.stringify(unusable)).not.toContain("hunter");
});

test("no shell reads the arguments", async () => {
  await run(["printf", "%s\n", "$HOME `id` $(id) * ; true | cat > x"]);
  expect(said()).toBe("$HOME `id` $(id) * ; true | cat > x\n");
});

test("the process has nothing on its standard input and starts in its own directory", async () => {
  expect(await shell("cat; pwd; ls /proc/self/fd | wc -l")).toMatchObject({ kind: "succeeded", exitCode: 0 });
  expect(said().split("\n")[0]).toBe(join(attemptDir, "work"));
});

test("the input file holds the params as they were signed", async () => {
  const signed = { params: { ratio: new Decimal("1.0"), name: "é" } };
  await run(["cat", "input.json"], {}, { signed });
  expect(said()).toBe('{"name":"\\u00e9","ratio":1.0}');
});

test("the result file wins over the last line", async () => {
  expect(
    await shell('echo \'{"from":"stdout"}\'; echo \'{"from":"file", "x": 1.50}\' > "$JOB_RESULT_FILE"'),
  ).toEqual(expect.objectContaining({ kind: "succeeded", resultJson: '{"from":"file", "x": 1.50}\n' }));
});

test("the last line that is not empty is the result when it is JSON", async () => {
  expect(await shell("echo working; echo '[1,2]'; echo; echo '  '")).toMatchObject({ resultJson: "[1,2]" });
});

test("a last line for people is no result", async () => {
  expect(await shell("echo done.")).toMatchObject({ kind: "succeeded", resultJson: "null" });
});

test.each([
  ["is not JSON", 'echo nonsense > "$JOB_RESULT_FILE"'],
  ["names a key twice", `echo '{"a":1,"a":2}' > "$JOB_RESULT_FILE"`],
  ["is a link to something else", 'ln -s /etc/passwd "$JOB_RESULT_FILE"'],
  ["is a pipe", 'mkfifo "$JOB_RESULT_FILE"'],
  ["has a second name", 'echo 1 > other; ln other "$JOB_RESULT_FILE"'],
  ["is too large", 'head -c 1100000 /dev/zero > "$JOB_RESULT_FILE"'],
])("a result file that %s fails the job", async (_, script) => {
  expect(await shell(script)).toMatchObject({ kind: "failed", code: "EXECUTION_ERROR", exitCode: 0 });
});

test("processes that are left in the group are ended too", async () => {
  const pids: number[] = [];
  await shell("sleep 60 & echo begun", { onProcess: (pid) => pids.push(pid) });
  expect(pids.at(-1)).toBe(0);
  await untilGone(-pids[0]!);
});

/** A dead process keeps its number until its new parent has waited for it. */
async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 30_000);
}
