import assert from "node:assert/strict";
import { readFileSync, rmdirSync, watch } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../support/eventually.ts";
import { lacks } from "../capabilities.ts";
import { Cgroup, ending } from "../cgroup.ts";
import { findScratchDevice, makeScratchFolder } from "../scratch-disk.ts";

// What the cage takes for granted of the kernel, shown without a line of the cage. Times are only ever checked
// from below, because an emulated machine on a busy host can be slow without end.

const mebibyte = 1024 * 1024;
const noSwap = ["memory.max", "memory.swap.max"];
const onDisk = ["io.max", "cgroup.kill", "whole disk for io.max"];

test("memory: a value that is no size is refused", { skip: lacks("memory.max") }, (t) => {
  const cgroup = useCgroup(t);
  for (const value of ["1.5M", "-1", "64M extra"]) refuses(cgroup, "memory.max", value, "EINVAL");
  cgroup.set("memory.max", "64M");
  assert.equal(cgroup.get("memory.max"), String(64 * mebibyte));
});

test("memory: a hog is killed, and its neighbour is not", { skip: lacks(...noSwap) }, async (t) => {
  const cgroup = useCgroup(t);
  const neighbour = useCgroup(t);
  for (const each of [cgroup, neighbour]) limitMemory(each, "64M");
  const beside = neighbour.start("sleep", "1000");
  await eventually("the neighbour runs", () => neighbour.isPopulated());

  assert.deepEqual(await ending(startHog(cgroup, 160)), { code: null, signal: "SIGKILL" });
  assert.ok(cgroup.count("memory.events", "oom_kill") > 0);
  assert.equal(neighbour.count("memory.events", "oom_kill"), 0);
  assert.equal(beside.exitCode ?? beside.signalCode, null);
});

test("memory: what stays below the limit lives", { skip: lacks(...noSwap) }, async (t) => {
  const cgroup = useCgroup(t);
  limitMemory(cgroup, "160M");
  assert.deepEqual(await ending(startHog(cgroup, 64)), { code: 0, signal: null });
  assert.equal(cgroup.count("memory.events", "oom_kill"), 0);
});

test("memory: only swap.max 0 keeps a hog out of swap", { skip: lacks(...noSwap, "swap") }, async (t) => {
  const cgroup = useCgroup(t);
  limitMemory(cgroup, "64M");
  cgroup.set("memory.swap.max", "max");
  assert.deepEqual(await ending(startHog(cgroup, 160)), { code: 0, signal: null });
  assert.equal(cgroup.count("memory.events", "oom_kill"), 0);
});

test("memory: without oom.group the parent of a hog lives and may end well", {
  skip: lacks(...noSwap),
}, async (t) => {
  const cgroup = useCgroup(t);
  limitMemory(cgroup, "64M");
  const parent = cgroup.start("sh", "-c", `${hog(160)}; exit 0`);
  assert.deepEqual(await ending(parent), { code: 0, signal: null });
  assert.ok(cgroup.count("memory.events", "oom_kill") > 0, "only memory.events tells");
});

test("memory: with oom.group all die together", { skip: lacks(...noSwap, "memory.oom.group") }, async (t) => {
  const cgroup = useCgroup(t);
  limitMemory(cgroup, "64M");
  cgroup.set("memory.oom.group", "1");
  const parent = cgroup.start("sh", "-c", `sleep 1000 & ${hog(160)}; exit 0`);
  assert.deepEqual(await ending(parent), { code: null, signal: "SIGKILL" });
  await eventually("no process is left", () => !cgroup.isPopulated());
  assert.ok(cgroup.count("memory.events", "oom_group_kill") > 0);
});

test("pids: forks stop at pids.max", { skip: lacks("pids.max") }, async (t) => {
  const cgroup = useCgroup(t);
  cgroup.set("pids.max", "16");
  cgroup.start("sh", "-c", "while :; do sleep 1000 & done");
  await eventually("a fork is refused", () => cgroup.count("pids.events", "max") > 0);
  assert.ok(Number(cgroup.get("pids.current")) <= 16);
});

test("cpu: a quota below 1 ms is refused, one above the period is not", { skip: lacks("cpu.max") }, (t) => {
  const cgroup = useCgroup(t);
  for (const value of ["999 100000", "0 100000", "50000 999"]) refuses(cgroup, "cpu.max", value, "EINVAL");
  cgroup.set("cpu.max", "200000 100000");
  assert.equal(cgroup.get("cpu.max"), "200000 100000");
});

test("cpu: a spinning process is held to its quota", { skip: lacks("cpu.max") }, async (t) => {
  const cgroup = useCgroup(t);
  const quotaUs = 20_000;
  cgroup.set("cpu.max", `${quotaUs} 100000`);
  cgroup.start("sh", "-c", "while :; do :; done");
  await eventually("it was throttled in many periods", () => cgroup.count("cpu.stat", "nr_throttled") >= 20);

  // One more period for the one that runs, and a tenth because the kernel hands time out in slices. What it got too
  // much, while a busy host had taken its processor away, is held against it in the periods that follow.
  await eventually("it has had no more than its quota", () => {
    const periods = cgroup.count("cpu.stat", "nr_periods");
    return cgroup.count("cpu.stat", "usage_usec") <= (periods + 1) * quotaUs * 1.1;
  });
  cgroup.set("cgroup.kill", "1");
  await eventually("it is gone", () => !cgroup.isPopulated());
  assert.ok(cgroup.count("cpu.stat", "throttled_usec") > 0);
});

test("io: 0, a suffix and an unknown disk are refused, max takes a limit away", {
  skip: lacks(...onDisk),
}, (t) => {
  const cgroup = useCgroup(t);
  const device = findScratchDevice();
  cgroup.set("io.max", `${device} wbps=${mebibyte}`);
  refuses(cgroup, "io.max", `${device} wbps=0`, "ERANGE");
  refuses(cgroup, "io.max", `${device} wbps=1M`, "EINVAL");
  refuses(cgroup, "io.max", `0:99 wbps=${mebibyte}`, "ENODEV");
  assert.match(cgroup.get("io.max"), new RegExp(`^${device} rbps=max wbps=${mebibyte} `));
  cgroup.liftIoLimits();
  assert.equal(cgroup.get("io.max"), "");
});

test("io: direct writes are held to io.max of the whole disk", { skip: lacks(...onDisk) }, async (t) => {
  const cgroup = useCgroup(t);
  const device = findScratchDevice();
  cgroup.set("io.max", `${device} wbps=${mebibyte}`);
  const startMs = performance.now();
  assert.equal((await ending(startWriter(t, cgroup, { blockKiB: 64, blocks: 48 }))).code, 0);

  // Three mebibytes; the first slice of the throttle may come for free.
  assert.ok(performance.now() - startMs > 2000);
  const written = new RegExp(`^${device} .*wbytes=(\\d+)`, "m").exec(cgroup.get("io.stat"))?.[1];
  assert.ok(Number(written) >= 3 * mebibyte);
});

test("io: a killed writer goes only when its limit is lifted", { skip: lacks(...onDisk) }, async (t) => {
  const cgroup = useCgroup(t);
  // A mebibyte at this pace is stuck for 16 seconds, which is longer than all that follows.
  cgroup.set("io.max", `${findScratchDevice()} wbps=65536`);
  const writer = startWriter(t, cgroup, { blockKiB: 1024, blocks: 8 });
  await eventually("it is stuck in its write", stuckFor(writer.pid, 500));

  cgroup.set("cgroup.kill", "1");
  assert.ok(cgroup.isPopulated());
  assert.throws(() => rmdirSync(cgroup.path), { code: "EBUSY" });

  const gone = ending(writer);
  cgroup.liftIoLimits();
  assert.equal((await gone).signal, "SIGKILL");
  await eventually("it is empty", () => !cgroup.isPopulated());
  await cgroup.removeEmpty();
});

test("kill: children that left the session and their parents die too", {
  skip: lacks("cgroup.kill"),
}, async (t) => {
  const cgroup = useCgroup(t);
  const daemon = `setsid sh -c '(trap "" TERM INT HUP; while :; do sleep 1000; done) &'`;
  const starter = cgroup.start("sh", "-c", `${daemon}; ${daemon}; ${daemon}`);
  assert.equal((await ending(starter)).code, 0);
  await eventually("three daemons and their sleeps are left", () => cgroup.pids().length === 6);
  const pids = cgroup.pids();
  assert.throws(
    () => rmdirSync(cgroup.path),
    { code: "EBUSY" },
    "the end of the first process is not the end",
  );

  cgroup.set("cgroup.kill", "1");
  await eventually("all are gone", () => !cgroup.isPopulated());
  assert.deepEqual(
    pids.filter((pid) => !["", "Z", "X"].includes(stateOf(pid))),
    [],
  );
  await cgroup.removeEmpty();
});

test("kill: it reaches cgroups below, and those are removed first", {
  skip: lacks("cgroup.kill"),
}, async (t) => {
  const outer = useCgroup(t);
  const inner = new Cgroup(outer.path);
  inner.start("sleep", "1000");
  await eventually("it runs", () => outer.isPopulated());
  assert.throws(() => rmdirSync(outer.path), { code: "EBUSY" });
  outer.set("cgroup.kill", "1");
  await eventually("all are gone", () => !outer.isPopulated());
  await inner.removeEmpty();
  await outer.removeEmpty();
});

test("tree: a cgroup that hands controllers on takes no process", { skip: lacks("memory.max") }, (t) => {
  const outer = useCgroup(t);
  outer.set("cgroup.subtree_control", "+memory");
  refuses(outer, "cgroup.procs", String(process.pid), "EBUSY");
});

test("events: a watch tells when the last process has gone", { skip: lacks("cgroup.kill") }, async (t) => {
  const cgroup = useCgroup(t);
  cgroup.start("sleep", "1000");
  await eventually("it runs", () => cgroup.isPopulated());
  const watcher = watch(join(cgroup.path, "cgroup.events"));
  t.after(() => watcher.close());
  const told = new Promise<void>((resolve) => {
    watcher.on("change", () => {
      if (!cgroup.isPopulated()) resolve();
    });
  });
  cgroup.set("cgroup.kill", "1");
  await told;
});

function useCgroup(t: TestContext): Cgroup {
  const cgroup = new Cgroup();
  t.after(() => cgroup.remove());
  return cgroup;
}

function refuses(cgroup: Cgroup, file: string, value: string, code: string): void {
  assert.throws(() => cgroup.set(file, value), { code }, `${file} took ${value}`);
}

function limitMemory(cgroup: Cgroup, size: string): void {
  cgroup.set("memory.max", size);
  cgroup.set("memory.swap.max", "0");
}

/** dd reads into one buffer of that size, so all of it becomes its own memory. */
function hog(sizeMiB: number): string {
  return `dd if=/dev/zero of=/dev/null bs=${sizeMiB * mebibyte} count=1`;
}

function startHog(cgroup: Cgroup, sizeMiB: number) {
  return cgroup.start("sh", "-c", `exec ${hog(sizeMiB)}`);
}

function startWriter(t: TestContext, cgroup: Cgroup, size: { blockKiB: number; blocks: number }) {
  const folder = makeScratchFolder();
  t.after(() => folder.remove());
  const file = join(folder.path, "written");
  const blocks = [`bs=${size.blockKiB * 1024}`, `count=${size.blocks}`];
  return cgroup.start("dd", "if=/dev/zero", `of=${file}`, ...blocks, "oflag=direct");
}

/** A process waits for a disk for other reasons too, but only the throttle makes it wait for so long. */
function stuckFor(pid: number | undefined, spanMs: number): () => boolean {
  let sinceMs = performance.now();
  return () => {
    if (stateOf(pid) !== "D") sinceMs = performance.now();
    return performance.now() - sinceMs >= spanMs;
  };
}

/** The letter of the kernel (R, S, D, Z …), or "" when there is no such process. */
function stateOf(pid: number | undefined): string {
  try {
    return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}
