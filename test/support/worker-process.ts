import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { HubProcess } from "./hub-process.ts";
import { removeHome } from "./remove-home.ts";

const root = join(import.meta.dirname, "../..");

/** A worker as users run it: enrolled by `writ workers add`, in a process of its own. */
export class WorkerProcess {
  readonly id: string;
  readonly home: string;
  readonly #hub: HubProcess;
  readonly #env: Record<string, string>;
  readonly #program: string;
  #child: ChildProcess | null = null;

  /** `program` is another version of `bin/writ`. */
  constructor(
    hub: HubProcess,
    id: string,
    env: Record<string, string> = {},
    program = join(root, "bin/writ"),
  ) {
    this.#hub = hub;
    this.id = id;
    this.#env = env;
    this.#program = program;
    this.home = mkdtempSync(join(tmpdir(), "writ-worker-"));
  }

  async enrol(): Promise<void> {
    const args = ["workers", "add", this.id, "--home", this.#hub.home, "--out", this.#config];
    await promisify(execFile)(this.#program, args, { env: { PATH: process.env["PATH"], ...this.#env } });
  }

  start(): void {
    const args = ["worker", "--config", this.#config, "--home", this.home];
    const env = { PATH: process.env["PATH"], ...this.#env };
    this.#child = spawn(this.#program, args, { stdio: ["ignore", "ignore", "inherit"], env });
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Sends the signal and waits for the end; answers the exit code, null when a signal ended it. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    child.kill(signal);
    return exited;
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    removeHome(this.home);
  }

  get #config(): string {
    return join(this.home, "agents.yaml");
  }
}
