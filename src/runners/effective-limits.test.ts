import { expect, test } from "vitest";
import { effectiveLimits } from "./effective-limits.ts";

const mib = 1024 ** 2;

test("a job gets no more than the worker's ceiling, whatever it asks for", () => {
  const worker = { limits: {}, maxLimits: { memory: "64M", cpu: "1", network: "none" as const, pids: 10 } };
  const asked = { memory: "1G", cpu: "max", pids: 100, network: "host" as const };
  expect(effectiveLimits(asked, worker).limits).toMatchObject({
    memoryBytes: 64 * mib,
    cpuMillis: 1000,
    pidsMax: 10,
    network: "none",
  });
});

test("B4: a default limit of the hub applies but is not required, unless the ceiling sets it", () => {
  const worker = { limits: {}, maxLimits: { memory: "64M" } };
  const byDefault = { cpu: "500m", memory: "100M", pids: 512 };
  const { limits, asked } = effectiveLimits(byDefault, worker, ["cpu", "memory"]);
  expect(limits).toMatchObject({ cpuMillis: 500, memoryBytes: 64 * mib, pidsMax: 512 });
  expect([...asked].sort()).toEqual(["memoryBytes", "pidsMax"]);
});

test("limits of the job and of the ceiling are required, and defaults are not", () => {
  const worker = { limits: { cpu: "2", io: "low" as const }, maxLimits: { memory: "64M" } };
  const { limits, asked } = effectiveLimits({ pids: 7 }, worker);
  expect(limits).toMatchObject({ cpuMillis: 2000, ioBytesPerSec: mib, memoryBytes: 64 * mib, pidsMax: 7 });
  expect([...asked].sort()).toEqual(["memoryBytes", "pidsMax"]);
  expect(effectiveLimits({}, { limits: {}, maxLimits: {} })).toMatchObject({
    asked: [],
    limits: { pidsMax: 512 },
  });
});
