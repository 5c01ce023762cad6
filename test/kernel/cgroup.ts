import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { describeProcesses } from "./describe-processes.ts";

export const cgroupRoot = "/sys/fs/cgroup";

let made = 0;

/** A cgroup below the root, written and read by hand, so that nothing of Writ stands between a test and the kernel. */
export class Cgroup {
  readonly path: string;

  constructor(parent = cgroupRoot) {
    made += 1;
    this.path = join(parent, `writ-kernel-test-${process.pid}-${made}`);
    mkdirSync(this.path);
  }

  /** Throws with the code of the kernel (EINVAL, ERANGE, EBUSY …) when it refuses the value. */
  set(file: string, value: string): void {
    writeFileSync(join(this.path, file), value);
  }

  get(file: string): string {
    return readFileSync(join(this.path, file), "utf8").trim();
  }

  has(file: string): boolean {
    return existsSync(join(this.path, file));
  }

  /** One number of a file of "name number" lines, such as memory.events or cpu.stat. */
  count(file: string, name: string): number {
    const line = this.get(file)
      .split("\n")
      .find((candidate) => candidate.startsWith(`${name} `));
    if (line === undefined) throw new Error(`${file} has no ${name}`);
    return Number(line.slice(name.length + 1));
  }

  isPopulated(): boolean {
    return this.count("cgroup.events", "populated") === 1;
  }

  pids(): number[] {
    return this.get("cgroup.procs").split("\n").filter(Boolean).map(Number);
  }

  /** The shell moves itself before it becomes the program, so the program never runs outside. Its stderr is ours. */
  start(program: string, ...args: string[]): ChildProcess {
    const script = 'echo $$ > "$0/cgroup.procs" && exec "$@"';
    return spawn("/bin/sh", ["-c", script, this.path, program, ...args], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  /** The order that the kernel asks for: a throttled writer does not die before its limit is lifted. */
  async remove(): Promise<void> {
    if (!existsSync(this.path)) return;
    for (const child of readdirSync(this.path, { withFileTypes: true })) {
      if (child.isDirectory()) throw new Error(`${this.path} still holds ${child.name}`);
    }
    this.set("cgroup.kill", "1");
    this.liftIoLimits();
    await eventually(`${this.path} is empty`, () => !this.isPopulated());
    await this.removeEmpty();
  }

  liftIoLimits(): void {
    if (!this.has("io.max")) return;
    for (const line of this.get("io.max").split("\n").filter(Boolean)) {
      this.set("io.max", `${line.split(" ")[0]} rbps=max wbps=max riops=max wiops=max`);
    }
  }

  /** For a moment after the last process has gone the kernel may still say EBUSY. */
  async removeEmpty(): Promise<void> {
    await eventually(`${this.path} is removed`, () => {
      try {
        rmdirSync(this.path);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
        throw error;
      }
    });
  }
}

export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** A little less than a test may take, so that it can still report why it waited. */
const endsWithinMs = 150_000;

export function ending(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const hangs = () =>
      reject(new Error(`process ${child.pid} did not end; there were:\n${describeProcesses()}`));
    const timer = setTimeout(hangs, endsWithinMs);
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal });
    });
  });
}
