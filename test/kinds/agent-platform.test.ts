import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createProxy } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { sha256Hex } from "../../src/signing/mac.ts";
import { eventually } from "../support/eventually.ts";
import { jobTokenOf } from "../support/files.ts";
import { claimedJob, type HeldJob, jobReader } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { AgentStage } from "./agent-stage.ts";
import { tools } from "./containers.ts";
import { kindStage } from "./stage.ts";

const hub = hubForAll({ WRIT_BACKOFF_SCALE: "0" });
const view = jobReader(hub);
const output_location = { folder_id: "results", prefix: "runs" };

/** Writes two files, lists one of them, and prints a result. */
const script = [
  'cd "$JOB_OUTPUT_DIR" && printf forty-two > a.txt && printf no > b.txt',
  'printf \'{"files":[{"local_path":"a.txt","object_key":"kept/a.txt"}]}\' > __manifest__.json',
  "echo '{\"n\": 1.0}'",
].join(" && ");
const stored = {
  folder_id: "results",
  object_key: "runs/kept/a.txt",
  sha256: sha256Hex(Buffer.from("forty-two")),
  size: 9,
};

let stage: AgentStage;
beforeEach(() => {
  stage = new AgentStage();
});
afterEach(() => stage.remove());

function payloadFor(job_id: string, more: object) {
  return {
    job_id,
    job_class: "x",
    worker_command: ["sh", "-c", script],
    interface: { kind: "exec_per_job" },
    platform_url: hub.url,
    output_location,
    ...more,
  };
}

async function held(): Promise<HeldJob & { job_token: string }> {
  const job = await claimedJob(hub, { output_location });
  return { ...job, job_token: await jobTokenOf(hub, job) };
}

test("with a platform the start is signalled, files are uploaded, and the end is reported", async () => {
  const { id, job_token } = await held();
  const report = await stage.runJob(payloadFor(id, { job_token }));
  expect(report).toMatchObject({ success: true, code: 0, output_files: [stored] });
  expect(await view(id)).toMatchObject({ status: "completed", result: { n: 1 }, output_files: [stored] });
});

test("a job that fails is reported with its code, and its files are kept", async () => {
  const { id, job_token } = await held();
  const worker_command = ["sh", "-c", `(${script}); exit 3`];
  const report = await stage.runJob(payloadFor(id, { job_token, worker_command }));
  expect(report).toMatchObject({ success: false, code: 3, output_files: [stored] });
  expect(await view(id)).toMatchObject({ fail_history: [{ detail: "WORKER_EXIT_ERROR" }] });
});

test("with report: false nothing but the files reaches the hub", async () => {
  const { id, job_token } = await held();
  const report = await stage.runJob(payloadFor(id, { job_token, report: false }));
  expect(report).toMatchObject({ success: true, output_files: [stored] });
  expect(await view(id)).toMatchObject({ completed_at: null, started_at: null, result: null });
});

test("a file that leads out of the output directory fails the job, and nothing of it is sent", async () => {
  const { id, job_token } = await held();
  const manifest = '{"files":[{"local_path":"../input.json","object_key":"x"}]}';
  const worker_command = ["sh", "-c", `printf '${manifest}' > "$JOB_OUTPUT_DIR/__manifest__.json"`];
  const report = await stage.runJob(payloadFor(id, { job_token, worker_command }));
  expect(report).toMatchObject({ success: false, code: 1, error: { code: "PATH_TRAVERSAL_ATTEMPT" } });
  expect(report.output_files).toBeUndefined();
});

test("O-07: a secret in a manifest that cannot be used is masked in the report, at the hub and in the agent's files", async () => {
  const { id, job_token } = await held();
  const secrets = { KEY: "SuperSecretValue/123" };
  const manifest = '{"files":[{"local_path":"%s","object_key":"x"}]}';
  const worker_command = ["sh", "-c", `printf '${manifest}' "$KEY" > "$JOB_OUTPUT_DIR/__manifest__.json"`];
  const report = await stage.runJob(payloadFor(id, { job_token, worker_command, secrets }));
  expect(report.error).toMatchObject({
    code: "MANIFEST_INVALID",
    message: expect.stringContaining("*".repeat(secrets.KEY.length)),
  });
  const told = [report, await view(id)].map((value) => JSON.stringify(value));
  const kept = [stage.log("agent.log"), readFileSync(join(stage.stateDir, `jobs/${id}.json`), "utf8")];
  for (const text of [...told, ...kept]) expect(text).not.toContain(secrets.KEY);
});

test("a hub that is away when the job ends is told when it is back", async () => {
  let isAway = false;
  let refused = 0;
  const line = createProxy((socket) => {
    socket.on("error", () => {});
    if (isAway) {
      refused++;
      socket.destroy();
      return;
    }
    const onward = connect(Number(new URL(hub.url).port), "127.0.0.1");
    onward.on("error", () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void line.close());
  await eventually("it listens", () => line.listening);
  const { id, job_token } = await held();
  const go = join(stage.dir, "go");
  const worker_command = ["sh", "-c", `echo begun; until [ -e ${go} ]; do sleep 0.05; done; echo '{"n":1}'`];
  const platform_url = `http://127.0.0.1:${(line.address() as AddressInfo).port}`;
  const payload = payloadFor(id, { job_token, platform_url, worker_command });
  const running = stage.runJob(payload);
  await eventually("it has begun", async () => (await view(id)).status === "running");
  isAway = true;
  writeFileSync(go, "");
  await eventually("more was tried than for a job that was stopped", () => refused > 6);
  isAway = false;
  expect(await running).toMatchObject({ success: true, code: 0 });
  expect(await view(id)).toMatchObject({ status: "completed", result: { n: 1 } });
});

test("a job that the hub has given to somebody else is not run", async () => {
  const { id, job_token, fence } = await held();
  await hub.must("POST", `/jobs/${id}/release`, {
    token: hub.admin,
    body: { ...fence, reason: "as the test wishes" },
  });
  const report = await stage.runJob(payloadFor(id, { job_token }));
  expect(report).toMatchObject({ success: false, code: 125, error: { code: "LEASE_LOST" } });
  expect(stage.log("jobs", `${id}.out.log`)).toBe("");
});

test.each([
  ["http://hub.example", "would send the token unencrypted to another host"],
  ["https://hub.example/api", "must not contain the path of the API"],
  ["https://hub.example/other", "has a path; use https://hub.example"],
  ["https://user:secret@hub.example", "must not contain a user"],
  ["ftp://hub.example", "is not a hub address"],
])("platform_url %s is refused, and nothing runs", async (platform_url, message) => {
  const report = await stage.runJob(payloadFor("job", { platform_url, job_token: "x" }));
  expect(report).toMatchObject({ code: 125, error: { message: expect.stringContaining(message) } });
  expect((await stage.run(["job-log", "--job-id", "job"])).code).toBe(1);
});

test("redirects are not followed, and no token goes elsewhere", async () => {
  const seen: IncomingMessage[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request);
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  const platform = createServer((_, response) => {
    response
      .writeHead(307, { location: `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/` })
      .end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const server of [elsewhere, platform]) server.close();
  });
  await eventually("both listen", () => platform.listening && elsewhere.listening);
  const platform_url = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
  const report = await stage.runJob(payloadFor("job", { platform_url, job_token: "x" }));
  expect(report).toMatchObject({ code: 125, error: { code: "HTTP_ERROR" } });
  expect(seen).toEqual([]);
});

/** The network of this one is the host's, so the job in it reaches the hub. */
const tool = tools.find(({ name, obstacle }) => name !== "podman" && obstacle === null);
const inContainer = kindStage();
test.skipIf(tool === undefined)(
  `a hub job in a container has its files kept${tool === undefined ? ` (not capable: ${tools[0]!.obstacle})` : ""}`,
  async () => {
    const container = await tool!.start();
    onTestFinished(() => container.remove());
    const containers = {
      byName: { box: { exec: container.exec } },
      env: { PATH: process.env["PATH"]! },
      hubUrl: inContainer.hub.url,
      ca: undefined,
    };
    await inContainer.startWorker({ settings: { containers } });
    const run = { kind: "exec_per_job", worker_command: ["sh", "-c", script], container: "box" };
    const id = await inContainer.submit(run, { output_location });
    expect(await inContainer.ended(id)).toMatchObject({ status: "completed", output_files: [stored] });
  },
);
