import { existsSync, type FSWatcher, readFileSync, rmdirSync, watch } from "node:fs";
import { join } from "node:path";
import { codeOf, hasCode } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import { type CgroupCounts, cgroupCounts } from "./cgroup-counts.ts";
import {
  childCgroups,
  countIn,
  readCgroupFile,
  tryReadCgroupFile,
  wordsIn,
  writeCgroupFile,
} from "./cgroup-files.ts";
import { ioLift, type LimitPart, type LimitWrite } from "./cgroup-limits.ts";

/** A limit that the kernel did not accept. */
type RefusedLimit = { part: LimitPart; why: string };

/** How long killed processes may take to end; one that is stuck longer is left for the next start of the worker. */
const emptyMs = 10_000;
/** For a moment after the last process has ended, the kernel may still report EBUSY. */
const removeRetryMs = 5;
const removeTries = 200;

/** The cgroup of one job: its limits, its usage, and its end. */
export class JobCgroup {
  readonly path: string;
  readonly #clock: Clock;
  /** Undefined if another process created this cgroup: then only the kernel knows which disks it throttles. */
  #disks: string[] | undefined;

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
  }

  /** Writes limits and reads them back; returns those that the kernel did not accept exactly. */
  limit(writes: readonly LimitWrite[]): RefusedLimit[] {
    const refused: RefusedLimit[] = [];
    this.#disks = writes.filter(({ part }) => part === "io").map(({ value }) => value.split(" ")[0]!);
    for (const { part, file, value, isTaken } of writes) {
      try {
        writeCgroupFile(this.path, file, value);
        const readBack = readCgroupFile(this.path, file);
        if (!isTaken(readBack)) refused.push({ part, why: `${file} took ${value} for ${readBack}` });
      } catch (error) {
        // A kernel without swap has no file for it either.
        if (file === "memory.swap.max" && hasCode(error, "ENOENT") && !hasSwap()) continue;
        refused.push({ part, why: `${file} refused ${value}: ${codeOf(error)}` });
      }
    }
    return refused;
  }

  /** The value that lifts the written I/O limits; empty if there are none. */
  get ioLift(): string {
    return (this.#disks ?? []).map(ioLift).join("\n");
  }

  /** Called while the cgroup still exists. */
  counts(): CgroupCounts {
    return cgroupCounts({
      cpuStat: tryReadCgroupFile(this.path, "cpu.stat"),
      memoryCurrent: tryReadCgroupFile(this.path, "memory.current"),
      memoryPeak: tryReadCgroupFile(this.path, "memory.peak"),
      memoryEvents: tryReadCgroupFile(this.path, "memory.events"),
      pidsCurrent: tryReadCgroupFile(this.path, "pids.current"),
      pidsPeak: tryReadCgroupFile(this.path, "pids.peak"),
      ioStat: tryReadCgroupFile(this.path, "io.stat"),
    });
  }

  isPopulated(): boolean {
    return countIn(tryReadCgroupFile(this.path, "cgroup.events"), "populated") === 1;
  }

  /** The processes in it. */
  pids(): number[] {
    return wordsIn(tryReadCgroupFile(this.path, "cgroup.procs")).map(Number);
  }

  /** Kills everything in it at once. */
  kill(): void {
    try {
      writeCgroupFile(this.path, "cgroup.kill", "1");
    } catch (error) {
      // Its processes have ended and the launcher has removed it, perhaps between the open and the write here.
      if (!hasCode(error, "ENOENT", "ENODEV")) throw error;
    }
    // A process that waits in throttled I/O does not die before the throttle is lifted.
    this.#liftIo();
  }

  /**
   * Kills the remaining processes, waits for their end and removes the cgroup. Resolves with false if one did not end.
   */
  async remove(): Promise<boolean> {
    if (!existsSync(this.path)) return true;
    if (this.isPopulated()) {
      this.kill();
      if (!(await this.#untilEmpty())) return false;
    }
    // Data that is not on the disk yet would be throttled for every process that waits for it.
    else this.#liftIo();
    return this.#removeTree();
  }

  #liftIo(): void {
    for (const disk of this.#throttledDisks()) {
      try {
        writeCgroupFile(this.path, "io.max", ioLift(disk));
      } catch (error) {
        // The cgroup has gone meanwhile, or the disk.
        if (!hasCode(error, "ENOENT", "ENODEV")) throw error;
      }
    }
  }

  #throttledDisks(): string[] {
    if (this.#disks !== undefined) return this.#disks;
    const lines = (tryReadCgroupFile(this.path, "io.max") ?? "").split("\n");
    return lines.filter((line) => line !== "").map((line) => line.split(" ")[0]!);
  }

  /** The kernel reports when the last process has ended; nothing is polled. */
  async #untilEmpty(): Promise<boolean> {
    const wakeUp = new WakeUp();
    const watcher = this.#watchEvents(wakeUp.wake);
    const endsAtMs = this.#clock.monotonicMs() + emptyMs;
    try {
      for (let leftMs = emptyMs; this.isPopulated(); leftMs = endsAtMs - this.#clock.monotonicMs()) {
        if (leftMs <= 0) return false;
        await wakeUp.wait({ timeout: { clock: this.#clock, ms: leftMs } });
      }
      return true;
    } finally {
      watcher?.close();
    }
  }

  #watchEvents(onChange: () => void): FSWatcher | undefined {
    try {
      const watcher = watch(join(this.path, "cgroup.events"), onChange);
      watcher.on("error", () => {});
      return watcher;
    } catch {
      // The host is out of watches: then only the time limit remains.
      return undefined;
    }
  }

  async #removeTree(): Promise<boolean> {
    for (let attempt = 0; attempt < removeTries; attempt++) {
      try {
        removeLeafFirst(this.path);
        return true;
      } catch (error) {
        if (!hasCode(error, "EBUSY")) throw error;
      }
      await this.#clock.sleep(removeRetryMs);
    }
    return false;
  }
}

/** A job cannot create cgroups below its own, but root on the host can. */
function removeLeafFirst(path: string): void {
  try {
    rmdirSync(path);
    return;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return;
    if (code !== "EBUSY" && code !== "ENOTEMPTY") throw error;
  }
  for (const child of childCgroups(path)) removeLeafFirst(child);
  rmdirSync(path);
}

/** The first line of the list is its heading. */
function hasSwap(): boolean {
  return existsSync("/proc/swaps") && readFileSync("/proc/swaps", "utf8").trim().includes("\n");
}
