import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { jobStatus, type RpcService, startTinyRpcHub } from "../../test/support/tiny-rpc-hub.ts";

const jobctlFile = fileURLToPath(new URL("./jobctl.ts", import.meta.url));
const id = "01890000-0000-7000-8000-000000000001";

async function withHub(service: RpcService) {
  const hub = await startTinyRpcHub(service);
  onTestFinished(() => hub[Symbol.asyncDispose]());
  return { hub, env: { WRIT_HOME: hub.home } };
}

test("O-26: Ctrl-C in run stops the job, shows its last output, prints what it did and ends with 130", async () => {
  let isStopped = false;
  const stopped = Promise.withResolvers<void>();
  const { env } = await withHub({
    startJob: () => ({ job_id: id }),
    getStatus: () => jobStatus(isStopped ? { state: "STOPPED", ended_at: 1, stdout_bytes: 10 } : {}),
    stopJob: () => {
      isStopped = true;
      stopped.resolve();
      return { status: jobStatus({ state: "STOPPED" }) };
    },
    async *streamOutput({ stream, attempt }) {
      if (stream === "STDOUT") yield { data: Buffer.from("begin"), offset: 0, attempt };
      await stopped.promise;
      if (stream === "STDOUT") yield { data: Buffer.from("ended"), offset: 5, attempt };
    },
  });
  const interrupted = await interrupt(["run", "sleep", "9"], env);
  expect(interrupted).toEqual({
    end: [130, null],
    stdout: "beginended",
    stderr: `jobctl: stopping job ${id}\njobctl: job ${id} is stopped\n`,
  });
});

/** Presses Ctrl-C as soon as something is on its stdout. */
async function interrupt(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [jobctlFile, ...args], { env });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => {
    if (stdout === "") child.kill("SIGINT");
    stdout += text;
  });
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  // Not its exit: what it said last may still be on the way then.
  return { end: await once(child, "close"), stdout, stderr };
}

test("O-26: Ctrl-C in attach leaves the job running and says how to stop it", async () => {
  let stops = 0;
  const { env, hub } = await withHub({
    getStatus: () => jobStatus(),
    stopJob: () => {
      stops++;
      return { status: jobStatus({ state: "STOPPED" }) };
    },
    async *streamOutput({ stream, attempt }, { signal }) {
      if (stream === "STDOUT") yield { data: Buffer.from("begin"), offset: 0, attempt };
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  expect(await interrupt(["--home", hub.home, "attach", id], env)).toEqual({
    end: [130, null],
    stdout: "begin",
    stderr: `jobctl: detached; job ${id} continues; to stop it: jobctl --home ${hub.home} stop ${id}\n`,
  });
  expect(stops).toBe(0);
});

test("a reader that leaves stops the job of run, and ends stream without a message", async () => {
  let stops = 0;
  const { env } = await withHub({
    startJob: () => ({ job_id: id }),
    getStatus: () => jobStatus(),
    stopJob: () => {
      stops++;
      return { status: jobStatus({ state: "STOPPED" }) };
    },
    async *streamOutput({ stream, attempt }, { signal }) {
      for (let at = 0; stream === "STDOUT" && !signal.aborted; at += 65_536) {
        yield { data: Buffer.alloc(65_536, "y"), offset: at, attempt };
      }
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  for (const [args, expected] of [
    [["run", "yes"], 141],
    [["stream", id], 0],
  ] as const) {
    const child = spawn(process.execPath, [jobctlFile, ...args], { env });
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await once(child, "exit")).toEqual([expected, null]);
  }
  expect(stops).toBe(1);
});
