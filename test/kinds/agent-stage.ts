import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentReport } from "../../src/contract/shapes/agent-shapes.ts";

const root = join(import.meta.dirname, "../..");
export const workersDir = join(import.meta.dirname, "workers");

type AgentRun = { code: number | null; stdout: string; stderr: string };
type Payload = { job_id: string; [field: string]: unknown };

/** `writ-agent` with state and logs of its own. */
export class AgentStage {
  readonly dir = mkdtempSync(join(tmpdir(), "writ-agent-"));
  readonly stateDir = join(this.dir, "state");
  readonly logDir = join(this.dir, "log");
  readonly #env: Record<string, string>;

  constructor(env: Record<string, string> = {}) {
    this.#env = env;
  }

  start(args: readonly string[], stdin?: string): ChildProcess {
    const child = spawn(join(root, "bin/writ-agent"), args, { env: this.env, stdio: "pipe" });
    child.stdin!.on("error", () => {});
    child.stdin!.end(stdin);
    return child;
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env["PATH"] ?? "",
      WRIT_AGENT_STATE_DIR: this.stateDir,
      WRIT_AGENT_LOG_DIR: this.logDir,
      ...this.#env,
    };
  }

  async run(args: readonly string[], stdin?: string): Promise<AgentRun> {
    return finished(this.start(args, stdin));
  }

  /** Runs a job and returns its report; `code` is the exit code. */
  async runJob(payload: Payload): Promise<AgentReport & { code: number | null }> {
    const { code, stdout, stderr } = await this.run(["run-job"], JSON.stringify(payload));
    if (!/^[^\n]+\n$/.test(stdout))
      throw new Error(`not one line: ${JSON.stringify(stdout)}, exit code ${code}: ${stderr}`);
    return { ...JSON.parse(stdout), code };
  }

  state(kind: "jobs" | "workers", name: string) {
    return JSON.parse(readFileSync(join(this.stateDir, kind, `${name}.json`), "utf8"));
  }

  log(...path: string[]): string {
    return readFileSync(join(this.logDir, ...path), "utf8");
  }

  /** Ends the workers that still run, and removes everything. */
  async remove(): Promise<void> {
    mkdirSync(join(this.stateDir, "workers"), { recursive: true });
    for (const name of readdirSync(join(this.stateDir, "workers")).filter(isState)) {
      const { keeper, pid } = this.state("workers", name.slice(0, -".json".length));
      for (const group of [keeper.pid, pid]) killGroup(group);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function isState(name: string): boolean {
  return name.endsWith(".json");
}

export async function finished(child: ChildProcess): Promise<AgentRun> {
  const run: AgentRun = { code: null, stdout: "", stderr: "" };
  child.stdout!.on("data", (text) => {
    run.stdout += text;
  });
  child.stderr!.on("data", (text) => {
    run.stderr += text;
  });
  run.code = await new Promise((resolve) => child.once("close", resolve));
  return run;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {}
}
