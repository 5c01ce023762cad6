import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { removeHome } from "../support/remove-home.ts";
import { runCommand } from "../support/run-command.ts";
import { writeFetchingNpm } from "./fetching-npm.ts";
import { hostNode, npmInstall, packInto, pathWith } from "./installed-package.ts";
import { packOtherVersion } from "./other-version.ts";

const run = promisify(execFile);
const next = "0.1.99";

// A machine whose own Node is too old for hub and worker, as docs/deploy.md sets it up; what a unit starts is started here
// without systemd. `npm run test:long -- services` does it with systemd.
let dir: string;
let app: string;
let tarball: string;
let fetchingNpm: string;
let hub: TestHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-upgrade-"));
  app = join(dir, "app");
  tarball = packInto(join(dir, "out"));
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "type": "module" }\n');
  npmInstall(app, [tarball, "--offline"]);
  fetchingNpm = writeFetchingNpm({ folder: join(app, "node_modules/writ") }, join(dir, "npm"));
  hub = await startTestHub();
});
afterAll(async () => {
  await hub.stop();
  removeHome(dir);
});

test("O-11 what the units of hub and worker start is there after `npm install` of the next version", async () => {
  const workerHome = join(dir, "worker");
  mkdirSync(workerHome, { mode: 0o700 });
  const add = ["workers", "add", "upgraded", "--out", join(workerHome, "agents.yaml")];
  expect((await runCommand("writ", add, { home: hub.home })).exitCode).toBe(0);
  const units = {
    hub: await startWordsOf("hub", join(dir, "hub")),
    worker: await startWordsOf("worker", workerHome),
  };
  // Not in the package's folder, and without a version that a later package would not have.
  for (const [node] of Object.values(units)) expect(node).not.toMatch(/node_modules\/writ\/|26\.\d/);

  const before = new Service(units.worker);
  await workerRegisters("0.1.0");
  npmInstall(app, [packOtherVersion(tarball, next, join(dir, "out")), "--offline"]);
  // The worker of before still runs its jobs, and the next start is one of the new version.
  expect(await outputOfJob()).toBe("hello\n");
  await before.stop();
  const after = new Service(units.worker);
  await workerRegisters(next);
  expect(await outputOfJob()).toBe("hello\n");
  await after.stop();

  const newHub = new Service(units.hub, { PORT: "0", WRIT_GRPC_PORT: "0" });
  await newHub.shows(`Writ ${next} is running.`);
  expect(await newHub.stop()).toBe(0);
});

/** What systemd would start, as `writ install` of the installed package writes it. */
async function startWordsOf(role: "hub" | "worker", home: string): Promise<string[]> {
  const words = ["install", role, "--home", home, "--dry-run", "--json"];
  const env = { PATH: pathWith(hostNode(), app), HOME: dir, npm_execpath: fetchingNpm };
  const { stdout } = await run(join(app, "node_modules/.bin/writ"), words, { cwd: app, env });
  const { files } = JSON.parse(stdout) as { files: { path: string; text: string }[] };
  const unit = files.find(({ path }) => path.endsWith(".service"))!;
  return /^ExecStart=(.+)$/m.exec(unit.text)![1]!.split(" ");
}

async function workerRegisters(version: string): Promise<void> {
  await eventually(`the worker of ${version} registers`, async () => {
    const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<
      { id: string; version: string; status: string }[]
    >();
    return workers.some((one) => one.version === version && one.status === "active");
  });
}

async function outputOfJob(): Promise<string> {
  const body = { type: "exec", run: { kind: "exec", argv: ["echo", "hello"] } };
  const { id } = (await hub.must("POST", "/jobs", { token: hub.admin, body })).json<{ id: string }>();
  const status = await eventually("the job ends", async () => {
    const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ status: string }>();
    return ["completed", "failed"].includes(job.status) && job.status;
  });
  expect(status).toBe("completed");
  const { stdout } = await runCommand("jobctl", ["stream", id], { home: hub.home });
  return stdout;
}

/** A program as systemd starts it: absolute words, nearly no environment. */
class Service {
  readonly #child: ChildProcess;
  #shown = "";

  constructor([program = "", ...words]: string[], env: Record<string, string> = {}) {
    this.#child = spawn(program, words, { cwd: "/", env: { PATH: "/usr/bin:/bin", ...env }, stdio: "pipe" });
    this.#child.on("error", (error) => {
      this.#shown += error.message;
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on("data", (text: Buffer) => {
        this.#shown += text;
      });
    onTestFinished(() => void this.#child.kill("SIGKILL"));
  }

  async shows(text: string): Promise<void> {
    await eventually(`it shows ${text}`, () => this.#shown.includes(text) || this.#hasEnded);
    expect(this.#shown).toContain(text);
  }

  async stop(): Promise<number | null> {
    if (this.#hasEnded) throw new Error(`it has ended: ${this.#shown}`);
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code] = await exited;
    return code;
  }

  get #hasEnded(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
