import { expect, test } from "vitest";
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
