import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";
import type { InstalledPackage } from "./installed-package.ts";

type Stage = { installed: InstalledPackage; hub: TestHub };
type JobView = { status: string; result: unknown; progress: number | null; fail_reason: string | null };

/** A program with a worker in it, as a user writes it, on this Node: jobs that end well, fail, and are cancelled. */
export async function checkFunctionWorker({ installed, hub }: Stage, node: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "writ-functions-"));
  onTestFinished(() => removeHome(dataDir));
  const env = { DATA_DIR: dataDir, WORKER_ID: freshName("functions") };
  const program = new FunctionWorker({ installed, hub }, node, env);
  await program.shows("started");
  expect(program.children()).toBe("");

  const doubled = await submit(hub, "double", { number: 21 });
  expect(await ended(hub, doubled)).toMatchObject({ status: "completed", result: 42 });
  const output = await hub.must("GET", `/jobs/${doubled}/output/stdout`, { token: hub.admin });
  expect(output.text).toBe("doubling\n");
  const failed = await ended(hub, await submit(hub, "fail", {}));
  expect(failed).toMatchObject({ status: "failed", fail_reason: "EXECUTION_ERROR" });
  const cancelled = await submit(hub, "wait", {});
  await eventually("its progress is known", async () => (await jobOf(hub, cancelled)).progress === 50);
  await hub.must("DELETE", `/jobs/${cancelled}`, { token: hub.admin });
  await program.shows("aborted");
  expect(await ended(hub, cancelled)).toMatchObject({ status: "failed" });

  // A second one, on the Node of the tests, is not let into the same directory.
  const second = new FunctionWorker({ installed, hub }, process.execPath, env);
  await second.shows("another worker process uses");
  expect(await program.stop()).toBe(0);
  await second.shows("started");
  expect(await second.stop()).toBe(0);
}

async function submit(hub: TestHub, type: string, params: object): Promise<string> {
  const body = { type, params, max_attempts: 1 };
  return (await hub.must("POST", "/jobs", { token: hub.admin, body })).json<{ id: string }>().id;
}

function ended(hub: TestHub, id: string): Promise<JobView> {
  return eventually("the job ends", async () => {
    const job = await jobOf(hub, id);
    return ["completed", "failed"].includes(job.status) && job;
  });
}

async function jobOf(hub: TestHub, id: string): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
}

class FunctionWorker {
  readonly #child: ChildProcess;
  #shown = "";

  constructor({ installed, hub }: Stage, node: string, more: Record<string, string>) {
    const env = { PATH: "/usr/bin:/bin", WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin, ...more };
    this.#child = spawn(node, [writeProgram(installed)], { cwd: installed.app, env, stdio: "pipe" });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on("data", (text: Buffer) => {
        this.#shown += text;
      });
    onTestFinished(() => void this.#child.kill("SIGKILL"));
  }

  async shows(text: string): Promise<void> {
    await eventually(`it shows ${text}`, () => this.#shown.includes(text) || this.#child.exitCode !== null);
    expect(this.#shown).toContain(text);
  }

  /** The processes that it has started. */
  children(): string {
    const { pid } = this.#child;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  }

  async stop(): Promise<number | null> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code] = await exited;
    return code;
  }
}

function writeProgram({ app }: InstalledPackage): string {
  const folder = join(app, "programs");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "functions.mjs");
  writeFileSync(
    file,
    `import { Worker } from "writ/worker";

const { WRIT_HUB_URL: url, WRIT_TOKEN: token, DATA_DIR: dataDir, WORKER_ID: workerId } = process.env;
const worker = new Worker({ url, token, dataDir, workerId })
  .handle("double", ({ params }, { log }) => {
    log("doubling");
    return params.number * 2;
  })
  .handle("fail", () => {
    throw new Error("no luck");
  })
  .handle("wait", (_job, { progress, signal }) => {
    progress(50, "half");
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(console.log("aborted"))));
  });
await worker.start();
process.once("SIGTERM", () => worker.stop());
console.log("started");
`,
  );
  return file;
}
