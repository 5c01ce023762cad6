import { describe, expect, it } from "vitest";
import { parseCpu, parseMemory, pidsDefault, resolveLimits } from "./limits.ts";

describe("a cpu limit", () => {
  it("is not any of these", () => {
    for (const text of [
      "",
      "0",
      "9m",
      "-1",
      "1,5",
      "1.2345",
      "1e3",
      " 1",
      "1025",
      "1024001m",
      "Max",
      "0x10",
    ]) {
      expect(parseCpu(text), text).toBeUndefined();
    }
  });

  it("is cores or thousandths of one", () => {
    const texts = ["10m", "500m", "1.5", "2", "0.01", "1024", "max"];
    expect(texts.map(parseCpu)).toEqual([10, 500, 1_500, 2_000, 10, 1_024_000, null]);
  });
});

describe("a memory limit", () => {
  it("is not any of these", () => {
    for (const text of ["", "0", "3M", "4194303", "-4M", "4.5M", "4MB", "4m", "4T", "999999999999999G"]) {
      expect(parseMemory(text), text).toBeUndefined();
    }
  });

  it("is bytes, or powers of 1024", () => {
    const texts = ["4194304", "4096K", "4M", "2G", "max"];
    expect(texts.map(parseMemory)).toEqual([4_194_304, 4_194_304, 4_194_304, 2_147_483_648, null]);
  });
});

describe("resolved limits", () => {
  it("limit processes even when nothing was asked for", () => {
    expect(resolveLimits({})).toEqual({
      cpuMillis: null,
      memoryBytes: null,
      ioBytesPerSec: null,
      pidsMax: pidsDefault,
      network: "host",
    });
  });

  it("are in the kernel's units", () => {
    const text = { cpu: "500m", memory: "64M", io: "low", pids: 10, network: "none" } as const;
    expect(resolveLimits(text)).toEqual({
      cpuMillis: 500,
      memoryBytes: 67_108_864,
      ioBytesPerSec: 1_048_576,
      pidsMax: 10,
      network: "none",
    });
  });
});
