import { expect, test } from "vitest";
import { resolveLimits } from "../core/limits.ts";
import { decideIsolation } from "./host/decide-isolation.ts";
import { hostFacts } from "./host/host-facts.testing.ts";
import type { PartName } from "./host/host-facts.ts";
import { launchPlan, workDirSeen } from "./launch-plan.ts";
import { protect } from "./launcher/launcher-protocol.ts";
import type { LaunchPlan } from "./sandbox.ts";

const job: LaunchPlan = {
  jobId: "j",
  attempt: 1,
  argv: ["sh", "-c", "true"],
  env: { PATH: "/usr/bin", EMPTY: "" },
  cwd: "/work",
  stdoutFile: "/home/jobs/1/stdout.log",
  stderrFile: "/home/jobs/1/stderr.log",
  outputBytesMax: 1000,
  limits: resolveLimits({}),
  asked: [],
  workDir: "/home/jobs/1/work",
};

function plan(changes: Partial<LaunchPlan> = {}, lacking: PartName[] = []) {
  // A root worker that cannot change the user starts no process at all.
  const facts = hostFacts(lacking, { openFilesMax: 20_000, isRoot: !lacking.includes("user") });
  const decision = decideIsolation("best-effort", facts, job);
  return launchPlan({
    job: { ...job, ...changes },
    facts,
    decision,
    visiblePaths: [],
    jobMounts: [],
    cgroup: { path: "/cg/j", ioLift: "" },
  });
}

test("a working directory that the job could not see is refused before anything is started", () => {
  expect(() => plan({ cwd: "/root" })).toThrow("the working directory /root is not visible to jobs");
  expect(() => plan({ cwd: "/work/../root" })).toThrow("not visible");
});

test("a working directory that the kernel refuses as a path is the job's fault and not the host's", () => {
  const longest = `/work/${"a/".repeat(2044)}a`;
  expect(plan({ cwd: longest }).cwd).toHaveLength(4095);
  expect(() => plan({ cwd: `${longest}a` })).toThrow("more than the 4095 bytes of a path");
  expect(() => plan({ cwd: `/work/${"ä".repeat(3000)}` })).toThrow("more than the 4095 bytes of a path");
  expect(() => plan({ cwd: `/${"a".repeat(5000)}` }, ["jail"])).toThrow("more than the 4095 bytes of a path");
});

test("a variable without a name is refused", () => {
  expect(() => plan({ env: { "": "x" } })).toThrow("is not the name of a variable");
  expect(() => plan({ env: { "A=B": "x" } })).toThrow("is not the name of a variable");
});

test("a full cage has every protection except the network's, the ids of the user nobody, and its own host name", () => {
  expect(plan()).toMatchObject({
    argv: ["sh", "-c", "true"],
    env: ["PATH=/usr/bin", "EMPTY="],
    cwd: "/work",
    protections: protect.ALL & ~protect.NET_NS,
    ids: { uid: 65_534, gid: 65_534 },
    hostname: "writ-job",
    giveDir: "/home/jobs/1/work",
    cgroup: { path: "/cg/j", ioLift: "" },
    stdoutBytesMax: 1000,
  });
});

test("core files are off, and a job may open as many files as the worker", () => {
  expect(plan().rlimits).toEqual([
    { resource: 4, soft: 0, hard: 0 },
    { resource: 7, soft: 1024, hard: 20_000 },
  ]);
});

test("the plan requests only parts that the host has", () => {
  const bare = plan({ cwd: "/home/jobs/1/work" }, ["jail", "user", "namespaces"]);
  expect(bare.mounts).toEqual([]);
  expect(bare).not.toHaveProperty("ids");
  expect(bare).not.toHaveProperty("hostname");
});

test("without a jail the job's directory has its path on the host", () => {
  expect(workDirSeen("/home/jobs/1/work", protect.MOUNT_NS)).toBe("/work");
  expect(workDirSeen("/home/jobs/1/work", 0)).toBe("/home/jobs/1/work");
});
