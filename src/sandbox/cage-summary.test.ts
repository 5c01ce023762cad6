import { expect, test } from "vitest";
import { cageSummary } from "./cage-summary.ts";
import { hostFacts } from "./host/host-facts.testing.ts";

const userNamespace = { isRoot: false, rights: { kind: "user-namespace" as const } };

test("one line says whether jobs are caged, by which right and what limits them", () => {
  expect(cageSummary(hostFacts())).toEqual({
    text: "caged, with limits of cpu, memory, io, pids",
    advice: null,
  });
  expect(cageSummary(hostFacts(["cgroup", "cpu", "memory", "io", "pids"], userNamespace))).toEqual({
    text: "caged without root, in a user namespace, limits by rlimits only",
    advice: "get cpu",
  });
  expect(cageSummary(hostFacts(["io"], userNamespace))).toEqual({
    text: "caged without root, in a user namespace, with limits of cpu, memory, pids, but not of io",
    advice: "get io",
  });
});

test("where jobs are not caged it says why, and how to change that", () => {
  const rights = { kind: "none" as const, why: "EPERM: making a user namespace" };
  expect(cageSummary(hostFacts(["jail", "namespaces"], { isRoot: false, rights }))).toEqual({
    text: "jobs are not caged: this host forbids user namespaces (EPERM: making a user namespace)",
    advice: "get jail",
  });
  const launcherObstacle = "writ-launcher: ENOENT";
  expect(cageSummary(hostFacts(["jail"], { launcherObstacle })).text).toBe(
    "jobs are not caged: there is no launcher (writ-launcher: ENOENT)",
  );
});
