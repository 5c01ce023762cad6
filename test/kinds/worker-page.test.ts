import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readBlock } from "../docs/page.ts";
import { freePort } from "../support/free-port.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();

function writeProgram(block: string, name: string): string {
  const path = join(stage.programs, name);
  const code = /```\w+\n(.*?)```/s.exec(readBlock("docs/container-workers.md", block))![1]!;
  writeFileSync(path, code, { mode: 0o755 });
  return path;
}

test("the worker that docs/container-workers.md starts for each job works as it stands there", async () => {
  await stage.startWorker();
  const command = ["sh", writeProgram("exec_per_job", "page.sh")];
  const run = { kind: "exec_per_job", worker_command: command, job_input: { name: "Ada" } };
  const id = await stage.submit(run, { type: "hello.v1" });
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { greeting: "hello Ada" } });
});

test("the worker that docs/container-workers.md starts once works as it stands there", async () => {
  await stage.startWorker();
  const command = ["/usr/bin/python3", writeProgram("persistent_http", "page.py")];
  const port = await freePort();
  const run = { kind: "persistent_http", worker_command: command, port, job_input: { name: "Ada" } };
  const id = await stage.submit(run, { type: "hello.v1" });
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { greeting: "hello Ada" } });
  expect(await stage.output(id)).toBe("greeting Ada\n");
  const nameless = await stage.submit({ ...run, job_input: {} }, { type: "hello.v1", max_attempts: 1 });
  expect(await stage.ended(nameless)).toMatchObject({
    status: "failed",
    fail_history: [{ reason: "JOB_EXECUTION_ERROR: KeyError('name')" }],
  });
});
