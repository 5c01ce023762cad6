import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isOrdinaryUser, userId, userObstacle } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";

/** The first steps of somebody who is not root: `writ up`, then `jobctl run`. */
const root = join(import.meta.dirname, "../..");
const obstacle = userObstacle();
const ids = isOrdinaryUser() ? {} : { uid: userId, gid: userId };
const home = mkdtempSync(join(tmpdir(), "writ-ordinary-"));
const env = { PATH: process.env["PATH"], HOME: home, WRIT_HOME: join(home, ".writ") };
let up: ChildProcess;
let shown = "";

beforeAll(async () => {
  if (obstacle !== null) return;
  writeFileSync(join(home, "diary"), "private");
  if (!isOrdinaryUser()) for (const path of [home, join(home, "diary")]) chownSync(path, userId, userId);
  up = spawn(join(root, "bin/writ"), ["up", "--port", "0", "--grpc-port", "0"], { env, cwd: home, ...ids });
  for (const stream of [up.stdout!, up.stderr!]) {
    stream.on("data", (text) => {
      shown += text;
    });
  }
  await eventually("writ up greets", () => shown.includes("jobctl"));
});
afterAll(async () => {
  if (obstacle === null) {
    const exited = once(up, "exit");
    if (up.kill("SIGTERM")) await exited;
  }
  removeHome(home);
});

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { env, cwd: home, timeout: 180_000, ...ids };
    execFile(join(root, "bin/jobctl"), args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

function userTest(name: string, body: () => Promise<void>): void {
  if (obstacle === null) test(name, body);
  else test.skip(`${name} (not capable: ${obstacle})`, body);
}

userTest(
  "a job is the user nobody, has no home, sees nothing of the worker and gets no namespace",
  async () => {
    const script = "id; ls ~; cat /proc/1/environ; kill -9 -1; unshare -Ur true";
    const { code, stdout, stderr } = await run("run", "sh", "-c", script);
    expect(stdout).toBe("uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n");
    expect(stderr).toMatch(/\/proc\/1\/environ: No such file or directory/);
    expect(stderr).toMatch(/unshare: unshare failed: Operation not permitted/);
    expect(code).toBe(1);
    // What it killed was not the worker.
    expect(await run("run", "sh", "-c", `cat ${home}/diary || echo hidden`)).toMatchObject({
      code: 0,
      stdout: "hidden\n",
    });
  },
);

userTest("its record says how it was caged, and the start of the worker what is missing", async () => {
  const { stdout } = await run("start", "true");
  const status = await eventually("it has ended", async () => {
    const job = JSON.parse((await run("status", "--json", stdout.trim())).stdout);
    return job.state === "EXITED" && job;
  });
  expect(status.isolation.applied).toEqual(expect.arrayContaining(["namespaces: user", "jail", "seccomp"]));
  const warnings = shown.split("\n").filter((line) => line.includes("caged"));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("caged without root, in a user namespace");
});
