import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Worker } from "../../src/worker/index.ts";
import { startTestHub } from "../support/hub.ts";
import { issueToken } from "../support/tokens.ts";

const program = join(import.meta.dirname, "../../src/cli/writ.ts");

function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-notices-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A port without a listener. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

function startWritWorker(env: Record<string, string>, home = tempDir()) {
  const child = spawn(process.execPath, [program, "worker", "--home", home], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const told = { stderr: "" };
  child.stderr.on("data", (text) => {
    told.stderr += text;
  });
  return { told, exit: new Promise<number | null>((resolve) => child.once("close", resolve)) };
}

test("C2: writ worker reports that the hub cannot be reached", async () => {
  const url = await deadUrl();
  const { told } = startWritWorker({ HUB_URL: url, WRIT_TOKEN: "sk_worker_x", NODE_ID: "w1" });
  await expect
    .poll(() => told.stderr)
    .toMatch(/^writ: the hub cannot be reached; trying again .*ECONNREFUSED/m);
});

test("C2: writ worker reports that its id is taken, and that its home is in use", async () => {
  const hub = await startTestHub();
  onTestFinished(() => hub.stop());
  const { token } = await issueToken(hub, { role: "worker" });
  const env = { HUB_URL: hub.url, WRIT_TOKEN: token, NODE_ID: "w1" };
  const home = tempDir();
  startWritWorker(env, home);
  await expect
    .poll(async () => (await hub.call("GET", "/workers/w1", { token: hub.admin })).status)
    .toBe(200);
  const taken = startWritWorker(env);
  expect(await taken.exit).toBe(1);
  expect(taken.told.stderr).toContain("worker id w1 is taken");
  const second = startWritWorker(env, home);
  await expect
    .poll(() => second.told.stderr)
    .toContain(`another worker process uses ${join(home, "worker")}; waiting up to 60 s for it to end; `);
  expect(second.told.stderr).toContain("`NODE_ID=ID writ worker --home DIR`");
});

test("C2: a Worker without a logger of its own shows warnings", async () => {
  const said: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const worker = new Worker({
    url: await deadUrl(),
    token: "sk_worker_x",
    workerId: "w1",
    dataDir: tempDir(),
  });
  await worker.handle("t", () => null).start();
  onTestFinished(() => worker.stop());
  expect(said).toEqual([
    expect.stringMatching(/^writ worker w1: the hub cannot be reached; .*ECONNREFUSED.*\n$/),
  ]);
});
