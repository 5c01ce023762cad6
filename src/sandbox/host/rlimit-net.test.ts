import { expect, test } from "vitest";
import { resolveLimits } from "../../core/limits.ts";
import type { Asked } from "../sandbox.ts";
import { decideIsolation } from "./decide-isolation.ts";
import { hostFacts } from "./host-facts.testing.ts";
import type { HostFacts, PartName } from "./host-facts.ts";
import { rlimit } from "./rlimit-net.ts";

const gibibyte = 1024 ** 3;
const noCgroup: PartName[] = ["cgroup", "cpu", "memory", "io", "pids"];
const asked: Asked = {
  limits: resolveLimits({ cpu: "500m", memory: "64M", io: "low", pids: 20 }),
  asked: ["cpuMillis", "memoryBytes", "ioBytesPerSec", "pidsMax"],
  timeoutSec: 60,
};

function decide(facts: Partial<HostFacts> = {}, wanted: Partial<Asked> = {}, lacking = noCgroup) {
  const host = hostFacts(lacking, { isRoot: false, countsProcesses: true, ...facts });
  return decideIsolation("best-effort", host, { ...asked, ...wanted });
}

test("without a cgroup, rlimits are set and recorded as rlimits, and the limits stay missing", () => {
  const { isolation, rlimits, limits } = decide();
  expect(isolation.applied.filter((name) => name.includes("rlimit"))).toEqual([
    "cpu: rlimit",
    "memory: rlimit",
    "pids: rlimit",
    "file_size: rlimit",
  ]);
  expect(isolation.applied).not.toContain("memory");
  expect(isolation.missing.map(({ part }) => part)).toEqual(noCgroup);
  expect(limits).toMatchObject({ cpuMillis: null, memoryBytes: null, pidsMax: null });
  expect(rlimits).toEqual([
    { resource: rlimit.CPU, soft: 30, hard: 35 },
    { resource: rlimit.DATA, soft: gibibyte + 64 * 1024 ** 2, hard: gibibyte + 64 * 1024 ** 2 },
    { resource: rlimit.NPROC, soft: 20, hard: 20 },
    { resource: rlimit.FSIZE, soft: 9 * gibibyte, hard: 9 * gibibyte },
  ]);
});

test("a limit that a cgroup enforces needs no rlimit", () => {
  expect(decide({}, {}, []).rlimits).toEqual([]);
  expect(decide({}, {}, ["io", "memory"]).isolation.applied).toContain("memory: rlimit");
  expect(decide({}, {}, ["io", "memory"]).rlimits).toHaveLength(1);
});

test("default memory, CPU time without a timeout and processes of other jobs are not limited", () => {
  const names = (facts: Partial<HostFacts>, wanted: Partial<Asked>) =>
    decide(facts, wanted).isolation.applied.filter((name) => name.includes("rlimit"));
  expect(names({}, { asked: [] })).not.toContain("memory: rlimit");
  expect(names({}, { timeoutSec: undefined })).not.toContain("cpu: rlimit");
  expect(names({}, { timeoutSec: 0 })).not.toContain("cpu: rlimit");
  expect(names({ countsProcesses: false }, {})).not.toContain("pids: rlimit");
  expect(names({ launcherObstacle: "no compiler" }, {})).toEqual([]);
});

test("strict does not accept rlimits", () => {
  const host = hostFacts(["memory"], { isRoot: false });
  expect(() => decideIsolation("strict", host, asked)).toThrow("memory: no memory");
});

test("a single file may take half of the free space of a nearly full disk", () => {
  const { rlimits } = decide({ diskFreeBytes: () => gibibyte / 2 });
  expect(rlimits.at(-1)).toMatchObject({ resource: rlimit.FSIZE, soft: gibibyte / 4 });
});
