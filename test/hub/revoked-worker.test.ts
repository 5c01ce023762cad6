import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll();
const program = join(import.meta.dirname, "../../bin/writ");

async function statusOf(workerId: string): Promise<string | undefined> {
  const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<Record<string, string>[]>();
  return workers.find(({ id }) => id === workerId)?.["status"];
}

async function revokeTokenOf(workerId: string): Promise<void> {
  const tokens = (await hub.must("GET", "/tokens", { token: hub.admin })).json<Record<string, string>[]>();
  const { id } = tokens.find(({ worker_id }) => worker_id === workerId)!;
  await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
}

test("B15: `writ worker` exits with one plain line when its token is revoked, and does not start with it", async () => {
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
    return Promise.all([code, text(child.stderr)]);
  };
  const first = start();
  await eventually("it works", async () => (await statusOf("w1")) === "active");
  await revokeTokenOf("w1");

  for (const run of [first, start()]) {
    const [code, stderr] = await run;
    const lines = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("warning: "));
    expect(lines).toEqual([
      "writ: the hub does not accept the token of worker w1: it was revoked, has expired or is wrong; " +
        "`writ workers add w1` at the hub makes a file with a new one",
    ]);
    expect(code).toBe(5);
  }
  const log = readFileSync(join(home, "logs", "worker.log"), "utf8");
  expect(log).toContain("the hub refuses this worker's token; claiming nothing more");
  expect(log).not.toContain("cannot be reached");
  expect(log).not.toContain('"stack"');
});
