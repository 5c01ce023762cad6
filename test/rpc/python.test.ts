import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { state } from "../../src/contract/gen/writ/v1/job_service.ts";
import { claimJob, registerWorker } from "../support/jobs.ts";
import { rpcHubForAll } from "./rpc-hub.ts";

const python = "/usr/bin/python3";
const hasGrpc = spawnSync(python, ["-c", "import grpc, google.protobuf"]).status === 0;
if (!hasGrpc) {
  console.warn(
    "NOT TESTED: Python's gRPC client; install the Debian packages python3-grpcio and python3-protobuf",
  );
}

const hub = rpcHubForAll();

test.skipIf(!hasGrpc)(
  `Python's grpcio starts, streams, stops and queries${hasGrpc ? "" : " (not capable: no python3-grpcio)"}`,
  async () => {
    const workerId = await registerWorker(hub);
    const script = join(import.meta.dirname, "python-client.py");
    const child = spawn(python, [script, String(hub.grpcPort), join(hub.home, "certs")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { job_id: jobId } = JSON.parse(String((await lines.next()).value));
    const held = await claimJob(hub, { workerId, type: "exec" });
    expect(held.id).toBe(jobId);
    await hub.must("POST", `/jobs/${jobId}/output/stdout?offset=0`, {
      token: hub.admin,
      body: Buffer.from("hello\n"),
      headers: {
        "Content-Type": "application/octet-stream",
        "X-Worker-Id": workerId,
        "X-Job-Attempt": "1",
        "X-Lease-Token": held.fence.token,
      },
    });
    const body = { ...held.fence, result: null, exit_code: 0 };
    await hub.must("POST", `/jobs/${jobId}/result`, { token: hub.admin, body });
    child.stdin.end("go\n");
    const report = JSON.parse(String((await lines.next()).value));
    expect(report).toMatchObject({
      refused: ["INVALID_ARGUMENT", expect.stringMatching(/^limits\.cpu: must be cores/)],
      output: "hello\n",
      state: state.EXITED,
      exit_code: 0,
      stopped: state.STOPPED,
    });
    expect(report.listed).toEqual([report.second, jobId]);
    expect((await ended)[0]).toBe(0);
  },
);
