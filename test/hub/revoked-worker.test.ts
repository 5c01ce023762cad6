import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { warningLogger } from "../../src/runtime/log/logger.ts";
import { Worker } from "../../src/worker/index.ts";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";
import { runCli } from "../support/run-cli.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll();
const root = join(import.meta.dirname, "../..");
const program = join(root, "bin/writ");

async function statusOf(workerId: string): Promise<string | undefined> {
  const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<Record<string, string>[]>();
  return workers.find(({ id }) => id === workerId)?.["status"];
}

async function revokeTokenOf(workerId: string): Promise<void> {
  const tokens = (await hub.must("GET", "/tokens", { token: hub.admin })).json<Record<string, string>[]>();
  const { id } = tokens.find(({ worker_id }) => worker_id === workerId)!;
  await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
}

test("B15: `writ worker` reports a revoked token and exits, and does not start with one", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-worker-"));
  onTestFinished(() => removeHome(home));
  const file = join(home, "agents.yaml");
  const added = await runCli("writ", ["workers", "add", "w1", "--out", file], {
    env: { WRIT_HOME: hub.home },
  });
  expect(added.code, added.stderr).toBe(0);

  const start = () => {
    const child = spawn(program, ["worker", "--config", file, "--home", home], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], JOB_HEARTBEAT_MS: "500" },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const code = new Promise<number | null>((resolve) => child.once("exit", resolve));
    // Beside what this host lacks.
    const lines = text(child.stderr).then((all) =>
      all.split("\n").filter((line) => line !== "" && !/warning: |lacks parts of the cage/.test(line)),
    );
    return Promise.all([code, lines]);
  };
  const first = start();
  await eventually("it works", async () => (await statusOf("w1")) === "active");
  await revokeTokenOf("w1");

  const refusal =
    "writ: the hub does not accept the token of worker w1: it was revoked, has expired or is wrong; " +
    "`writ workers add w1` at the hub makes a file with a new one";
  const notice = "writ: the hub refuses this worker's token; claiming nothing more";
  expect(await first).toEqual([5, [notice, refusal]]);
  expect(await start()).toEqual([5, [refusal]]);
  const log = readFileSync(join(home, "logs", "worker.log"), "utf8");
  expect(log).toContain("the hub refuses this worker's token; claiming nothing more");
  expect(log).not.toContain("cannot be reached");
  expect(log).not.toContain('"stack"');
});

test("B15: a worker inside a program reports that it has stopped and the reason", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "writ-worker-"));
  const { token } = await issueToken(hub, { role: "worker", worker_id: "w2" });
  const said: string[] = [];
  const logger = warningLogger((sentence) => said.push(sentence));
  const worker = new Worker({ url: hub.url, token, workerId: "w2", dataDir, logger });
  onTestFinished(async () => {
    await worker.stop();
    removeHome(dataDir);
  });
  await worker.handle("test", () => 1).start();
  await revokeTokenOf("w2");
  await eventually("it has stopped", () => said.some((sentence) => sentence.includes("has stopped")));
  await expect(worker.done).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  expect(said).toEqual([
    "the hub refuses this worker's token; claiming nothing more",
    "the worker has stopped (the hub does not accept the token of worker w2: it was revoked, has expired or is wrong)",
  ]);
});

test("B15: the documented program exits with 1 when its token is revoked, and with 0 when it is stopped", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-worker-"));
  onTestFinished(() => removeHome(dir));
  const page = readFileSync(join(root, "docs/getting-started.md"), "utf8");
  const [, code = ""] = /```ts\n(import \{ defineJob, Worker \}.*?)```/s.exec(page) ?? [];
  writeFileSync(join(dir, "greeter.ts"), code.replace("writ/worker", join(root, "src/worker/index.ts")));
  const { token } = await issueToken(hub, { role: "worker", worker_id: "greeter" });
  const start = () => {
    const child = spawn(process.execPath, [join(dir, "greeter.ts")], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], HOME: dir, WRIT_HUB_URL: hub.url, WRIT_TOKEN: token },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const code = new Promise<number | null>((resolve) => child.once("exit", resolve));
    return { child, over: Promise.all([code, text(child.stderr)]) };
  };
  const stopped = start();
  await eventually("it works", async () => (await statusOf("greeter")) === "active");
  stopped.child.kill("SIGINT");
  expect(await stopped.over).toEqual([0, ""]);

  const revoked = start();
  await eventually("it works again", async () => (await statusOf("greeter")) === "active");
  await revokeTokenOf("greeter");
  expect(await revoked.over).toEqual([1, expect.stringContaining("UNAUTHENTICATED")]);
});
