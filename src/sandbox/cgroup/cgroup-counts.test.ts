import { expect, test } from "vitest";
import { cgroupCounts } from "./cgroup-counts.ts";

const nothing = { cpuStat: null, memoryPeak: null, memoryEvents: null, pidsPeak: null, ioStat: null };

test("figures that the kernel does not count are unknown, not zero", () => {
  expect(cgroupCounts(nothing)).toEqual({
    cpuUs: null,
    memoryBytes: null,
    memoryPeakBytes: null,
    oomKills: 0,
    pids: null,
    pidsPeak: null,
    ioReadBytes: null,
    ioWriteBytes: null,
  });
});

test("a limit without a number is unknown", () => {
  expect(cgroupCounts({ ...nothing, pidsPeak: "max\n" }).pidsPeak).toBeNull();
});

test("the bytes of all disks are added, and are zero before the first use", () => {
  const ioStat =
    "254:0 rbytes=4096 wbytes=1048576 rios=1 wios=2 dbytes=0 dios=0\n254:16 rbytes=10 wbytes=5 rios=1\n";
  expect(cgroupCounts({ ...nothing, ioStat })).toMatchObject({ ioReadBytes: 4106, ioWriteBytes: 1048581 });
  expect(cgroupCounts({ ...nothing, ioStat: "" })).toMatchObject({ ioReadBytes: 0, ioWriteBytes: 0 });
});

test("present and peak usage are both read", () => {
  const texts = {
    ...nothing,
    memoryCurrent: "100\n",
    memoryPeak: "200\n",
    pidsCurrent: "3",
    pidsPeak: "7\n",
  };
  expect(cgroupCounts(texts)).toMatchObject({ memoryBytes: 100, memoryPeakBytes: 200, pids: 3, pidsPeak: 7 });
});
