import { expect, test } from "vitest";
import { resolveLimits } from "../../core/limits.ts";
import { limitWrites } from "./cgroup-limits.ts";

const filesOf = (...args: Parameters<typeof limitWrites>) =>
  limitWrites(...args).map(({ file, value }) => `${file} ${value}`);

test("an absent limit is not written, and never as 0", () => {
  expect(filesOf({ ...resolveLimits({}), pidsMax: null }, "254:0")).toEqual([]);
});

test("each limit is written in the kernel's format", () => {
  const limits = resolveLimits({ cpu: "1.5", memory: "100M", io: "low", pids: 64 });
  expect(filesOf(limits, "254:32")).toEqual([
    "cpu.max 150000 100000",
    "memory.max 104857600",
    "memory.swap.max 0",
    "memory.oom.group 1",
    "pids.max 64",
    "io.max 254:32 rbps=1048576 wbps=1048576",
  ]);
});

test("the smallest cpu limit is the kernel's smallest", () => {
  expect(filesOf({ ...resolveLimits({ cpu: "10m" }), pidsMax: null }, null)).toEqual(["cpu.max 1000 100000"]);
});

test("one process is the job's own: the cage needs one more", () => {
  expect(filesOf(resolveLimits({ pids: 1 }), null)).toEqual(["pids.max 2"]);
});

test("a value that reads back differently does not count as the limit", () => {
  const [cpu, memory, , , , io] = limitWrites(resolveLimits({ cpu: "1", memory: "4M", io: "med" }), "8:0");
  expect(cpu!.isTaken("100000 50000")).toBe(false);
  expect(memory!.isTaken("max")).toBe(false);
  expect(memory!.isTaken(String(8 * 1024 ** 2))).toBe(false);
  expect(memory!.isTaken(String(4 * 1024 ** 2))).toBe(true);
  expect(io!.isTaken("")).toBe(false);
  expect(io!.isTaken("8:0 rbps=10485760 wbps=10485760 riops=max wiops=max")).toBe(true);
});
