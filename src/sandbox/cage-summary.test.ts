import { expect, test } from "vitest";
import { cageSummary } from "./cage-summary.ts";
import { hostFacts } from "./host/host-facts.testing.ts";

const userNamespace = { isRoot: false, rights: { kind: "user-namespace" as const } };

test("one line tells whether jobs are caged, with which rights and limits", () => {
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

test("without cages the line has the reason and the advice", () => {
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
