import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();

test("a shell script whose last line is JSON is a worker", async () => {
  await stage.startWorker();
  const id = await stage.submit({
    kind: "exec_per_job",
    worker_command: [`${stage.programs}/shout.sh`],
    job_input: { text: "hello" },
  });
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { shouted: "HELLO" } });
  expect(await stage.output(id)).toBe('shouting hello\n{"shouted":"HELLO"}\n');
});

test("the input is exactly the signed text", async () => {
  await stage.startWorker();
  const script = 'printf "%s" "$1" | base64 -d; echo; cat "$JOB_INPUT_FILE"';
  const body = `{"type":"shout.v1","run":{"kind":"exec_per_job","worker_command":["sh","-c",${JSON.stringify(script)},"sh"],"job_input":{"b":1.0,"a":"é"}}}`;
  const { id } = (
    await stage.hub.must("POST", "/jobs", {
      token: stage.hub.admin,
      body: Buffer.from(body),
      headers: { "content-type": "application/json" },
    })
  ).json<{ id: string }>();
  await stage.ended(id);
  const text = '{"a":"\\u00e9","b":1.0}';
  expect(await stage.output(id)).toBe(`${text}\n${text}`);
});

test("a job without input finds null in JOB_INPUT_FILE, and no file of its own for it", async () => {
  await stage.startWorker();
  const id = await stage.submit({ kind: "exec", argv: ["sh", "-c", 'cat "$JOB_INPUT_FILE"; echo; ls'] });
  await stage.ended(id);
  expect(await stage.output(id)).toBe("null\noutput\n");
});

test("a worker that fails keeps its result", async () => {
  await stage.startWorker();
  const id = await stage.submit(
    { kind: "exec_per_job", worker_command: [`${stage.programs}/shout.sh`], job_input: {} },
    { max_attempts: 1 },
  );
  expect(await stage.ended(id)).toMatchObject({
    status: "failed",
    fail_reason: "EXECUTION_ERROR",
    exit_code: 3,
    partial_result: { shouted: null },
  });
  expect(await stage.output(id, "stderr")).toBe("the input has no text\n");
});

/** A worker that runs a line of shell, with the input as its argument. */
function line(script: string) {
  return { kind: "exec_per_job", worker_command: ["sh", "-c", script, "sh"], job_input: {} };
}

test.each([
  [
    "the file that JOB_RESULT_FILE names wins",
    `echo '{"from":"file"}' > "$JOB_RESULT_FILE"; echo '{"from":"line"}'`,
    { from: "file" },
  ],
  ["a last line that is not JSON is no result", `echo '{"from":"line"}'; echo done`, null],
])("%s", async (_name, script, result) => {
  await stage.startWorker();
  expect(await stage.ended(await stage.submit(line(script)))).toMatchObject({ status: "completed", result });
});

test("a crash, a result that is too large, and a time-out fail the job, each with its own code", async () => {
  await stage.startWorker();
  const ended = async (script: string, more = {}) =>
    stage.ended(await stage.submit(line(script), { max_attempts: 1, ...more }));
  expect(await ended("kill -SEGV $$")).toMatchObject({ status: "failed", fail_detail: "SIGNALED" });
  expect(await ended('head -c 1100000 /dev/zero | tr "\\0" 1 > "$JOB_RESULT_FILE"')).toMatchObject({
    status: "failed",
    fail_history: [{ reason: "the result file is larger than 1048576 bytes" }],
  });
  expect(await ended("sleep 600", { timeout_sec: 1 })).toMatchObject({
    status: "failed",
    fail_code: "TIMEOUT",
  });
});

test("a cancelled job ends with everything that it started", async () => {
  await stage.startWorker();
  const id = await stage.submit(line("echo begun; sleep 600 & wait"));
  await eventually("it has begun", async () => (await stage.output(id)) === "begun\n");
  await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
  expect(await stage.ended(id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
});
