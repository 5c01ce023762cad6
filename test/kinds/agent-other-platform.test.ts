import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { AgentStage, workersDir } from "./agent-stage.ts";

/** O-14: `writ-agent` with a platform of 60 lines of Python that knows three routes, and nothing of Writ. */

const job_token = "a-token-of-their-own";
const manifest = '{"files":[{"local_path":"a.txt","object_key":"kept/a.txt"}]}';
const writesFile = `cd "$JOB_OUTPUT_DIR" && printf forty-two > a.txt && printf '${manifest}' > __manifest__.json`;

/** WRIT_ALLOW_INSECURE is what lets it call an address that is not this machine's own. */
const stage = new AgentStage({ WRIT_ALLOW_INSECURE: "true" });
const calls: { act: string; job_id: string; body: unknown }[] = [];
let platform: ReturnType<typeof spawn>;
let address = "";

beforeAll(async () => {
  if (!hasPython) return;
  const files = join(stage.dir, "store");
  platform = spawn("python3", [join(workersDir, "platform.py"), files, job_token], {
    env: pythonEnv({}),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: platform.stdout! });
  address = await new Promise((resolve) => lines.once("line", resolve));
  lines.on("line", (line) => calls.push(JSON.parse(line)));
});
afterAll(async () => {
  platform?.kill();
  await stage.remove();
});

function run(job_id: string, script: string, more: object = {}) {
  const worker_command = ["sh", "-c", script];
  const common = { job_class: "x", interface: { kind: "exec_per_job" }, platform_url: address, job_token };
  return stage.runJob({
    job_id,
    worker_command,
    ...common,
    output_location: { folder_id: "results" },
    ...more,
  });
}

const callsOf = (id: string) => calls.filter(({ job_id }) => job_id === id);
const ofPlatform = test.skipIf(!hasPython);

ofPlatform(`is told of the start and the end, and is given the files${pythonNote}`, async () => {
  const report = await run("good", `${writesFile} && echo '{"n": 1}'`);
  expect(report).toMatchObject({ success: true, code: 0, result: { n: 1 } });
  const file = { folderId: "results", objectKey: "kept/a.txt" };
  expect(callsOf("good")).toEqual([
    { act: "start", job_id: "good", body: {} },
    { act: "request-presigned-urls", job_id: "good", body: [{ ...file, method: "PUT" }] },
    { act: "complete", job_id: "good", body: { success: true, result: { n: 1 }, outputFiles: [file] } },
  ]);
  expect(readFileSync(join(stage.dir, "store/results/kept/a.txt"), "utf8")).toBe("forty-two");
});

ofPlatform(`is told how a job failed${pythonNote}`, async () => {
  expect(await run("bad", "exit 3")).toMatchObject({ success: false, code: 3 });
  const error = { code: "WORKER_EXIT_ERROR", message: expect.any(String) };
  expect(callsOf("bad").at(-1)?.body).toEqual({ success: false, error, outputFiles: [] });
});

ofPlatform(`may be another machine without TLS if that is allowed${pythonNote}`, async () => {
  const elsewhere = address.replace("127.0.0.1", "0.0.0.0");
  expect(await run("far", "true", { platform_url: elsewhere })).toMatchObject({ success: true, code: 0 });
});

ofPlatform(`its refusal is the agent's failure, and the job is not run${pythonNote}`, async () => {
  const ran = join(stage.dir, "ran");
  const report = await run("refused", `touch ${ran}`, { job_token: "another" });
  expect(report).toMatchObject({ code: 125, error: { code: "HTTP_ERROR" } });
  expect(existsSync(ran)).toBe(false);
});

test("a manifest that is never uploaded is in the log", async () => {
  await stage.runJob({
    job_id: "unkept",
    job_class: "x",
    worker_command: ["sh", "-c", writesFile],
    interface: { kind: "exec_per_job" },
  });
  const why = "were not uploaded, because the payload has no platform_url";
  expect(stage.log("agent.log")).toContain(`job=unkept the files of its __manifest__.json ${why}`);
});

ofPlatform(`a manifest without an output_location is in the log${pythonNote}`, async () => {
  await run("nowhere", writesFile, { output_location: undefined });
  expect(stage.log("agent.log")).toMatch(/job=nowhere .* because the payload has no output_location/);
});
