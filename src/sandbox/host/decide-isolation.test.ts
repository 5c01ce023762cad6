import { describe, expect, test } from "vitest";
import { resolveLimits } from "../../core/limits.ts";
import { protect } from "../launcher/launcher-protocol.ts";
import { type JobMount, SandboxUnavailable } from "../sandbox.ts";
import { decideIsolation, decideWithout, defaultLevel, hostObstacle } from "./decide-isolation.ts";
import { hostFacts } from "./host-facts.testing.ts";
import { idmapParts, type PartName, protectionParts } from "./host-facts.ts";

const byDefault = { limits: resolveLimits({}), asked: [] };

test.each(protectionParts)("strict never starts a process without %s", (part) => {
  const facts = hostFacts([part]);
  expect(() => decideIsolation("strict", facts, byDefault)).toThrow(
    `SANDBOX_UNAVAILABLE: ${part}: no ${part}`,
  );
  expect(hostObstacle("strict", facts)).toBe(`${part}: no ${part}`);
});

test("B3: strict refuses a required limit that the host cannot set, and claims no process before the next probe", () => {
  const asked = { limits: resolveLimits({ memory: "64M" }), asked: ["memoryBytes" as const] };
  try {
    decideIsolation("strict", hostFacts(["memory"]), asked);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(SandboxUnavailable);
    expect(error).toMatchObject({ isHostDown: true, message: "SANDBOX_UNAVAILABLE: memory: no memory" });
  }
});

test("strict refuses a job without a network if the host cannot cut it off, even if the ceiling requires it", () => {
  const cutOff = { limits: resolveLimits({ network: "none" }), asked: [] };
  expect(() => decideIsolation("strict", hostFacts(["network"]), cutOff)).toThrow("network: no network");
});

test("strict leaves out a default limit and records that", () => {
  const { isolation, limits } = decideIsolation("strict", hostFacts(["pids", "io"]), byDefault);
  expect(isolation.missing).toEqual([{ part: "pids", why: "no pids" }]);
  expect(isolation.applied).toEqual([...protectionParts]);
  expect(limits.pidsMax).toBeNull();
});

test("A19: as root, best-effort starts no process that would run as root, and reports the host as down", () => {
  const facts = hostFacts(["user"]);
  expect(hostObstacle("best-effort", facts)).toBe("user: no user");
  expect(() => decideIsolation("best-effort", facts, byDefault)).toThrow(
    expect.objectContaining({ isHostDown: true, message: "SANDBOX_UNAVAILABLE: user: no user" }),
  );
  const ours = { ...facts, isRoot: false };
  expect(hostObstacle("best-effort", ours)).toBeNull();
  expect(decideIsolation("best-effort", ours, byDefault).isolation.missing).toMatchObject([{ part: "user" }]);
});

test("best-effort applies the parts that the host has and lists the rest", () => {
  const asked = { limits: resolveLimits({ cpu: "1", memory: "64M" }), asked: ["memoryBytes" as const] };
  const decision = decideIsolation("best-effort", hostFacts(["jail", "memory"]), asked);
  expect(decision.isolation.missing.map(({ part }) => part)).toEqual(["jail", "memory"]);
  expect(decision.isolation.applied).toContain("cpu");
  expect(decision.protections & protect.MOUNT_NS).toBe(0);
  expect(decision.protections & protect.SECCOMP).not.toBe(0);
  expect(decision.limits).toMatchObject({ cpuMillis: 1000, memoryBytes: null });
});

describe("mounts of its own", () => {
  const shown = { source: "/srv/repo", target: "/srv/repo", access: "read-only" as const };
  const owned = { ...shown, idmapped: { uid: 1000, gid: 1000 } };

  test.each(["strict", "best-effort"] as const)("mounts of a job are never left out by %s", (level) => {
    const decide = (lacking: PartName[], mounts: JobMount[]) => () =>
      decideIsolation(level, hostFacts(lacking), { ...byDefault, mounts });
    expect(decide(["jail"], [shown])).toThrow("jail: no jail");
    expect(decide(["idmap"], [shown, owned])).toThrow("idmap: no idmap");
    for (const part of idmapParts) expect(decide([part], [owned])).toThrow(`${part}: no ${part}`);
    expect(decide(["idmap"], [shown])).not.toThrow();
  });

  test("mounts that the host cannot make do not concern other jobs", () => {
    try {
      decideIsolation("best-effort", hostFacts(["idmap"]), { ...byDefault, mounts: [owned] });
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ name: "SandboxUnavailable", isHostDown: false });
    }
  });

  test("mounts with mapped owners are recorded as a part", () => {
    const { applied } = decideIsolation("strict", hostFacts(), { ...byDefault, mounts: [owned] }).isolation;
    expect(applied).toContain("idmap");
    expect(decideIsolation("strict", hostFacts(), byDefault).isolation.applied).not.toContain("idmap");
  });
});

test("the host's network stays unless the job is cut off from it", () => {
  expect(decideIsolation("strict", hostFacts(), byDefault).protections & protect.NET_NS).toBe(0);
  const cutOff = { limits: resolveLimits({ network: "none" }), asked: [] };
  const { protections, isolation } = decideIsolation("strict", hostFacts(), cutOff);
  expect(protections).toBe(protect.ALL);
  expect(isolation.applied).toContain("network");
});

test("a limit that the kernel refuses at the start counts as missing", () => {
  const asked = { limits: resolveLimits({ cpu: "1" }), asked: ["cpuMillis" as const] };
  const refused = [{ part: "cpu" as const, why: "EINVAL" }];
  const strict = decideIsolation("strict", hostFacts(), asked);
  expect(() => decideWithout(strict, hostFacts(), { asked, lacking: refused })).toThrow("cpu: EINVAL");
  const whole = decideIsolation("best-effort", hostFacts(), asked);
  const bestEffort = decideWithout(whole, hostFacts(), { asked, lacking: refused });
  expect(bestEffort.isolation.missing).toEqual(refused);
  expect(bestEffort.isolation.applied).not.toContain("cpu");
  expect(bestEffort.limits.cpuMillis).toBeNull();
});

test("strict is the default only on a host with all parts", () => {
  expect(defaultLevel(hostFacts())).toBe("strict");
  expect(defaultLevel(hostFacts([], { isRoot: false }))).toBe("best-effort");
  expect(defaultLevel(hostFacts(["memory"]))).toBe("best-effort");
  expect(defaultLevel(hostFacts([], { kernel: "5.13.0" }))).toBe("best-effort");
  expect(defaultLevel(hostFacts([], { kernel: "5.14.0-rc1" }))).toBe("strict");
  expect(defaultLevel(hostFacts([], { launcherObstacle: "no compiler" }))).toBe("best-effort");
});

test("a cage in a user namespace is recorded as such, and strict accepts it when no part is missing", () => {
  const facts = hostFacts([], { isRoot: false, rights: { kind: "user-namespace" } });
  const asked = { limits: resolveLimits({}), asked: [] };
  for (const level of ["strict", "best-effort"] as const) {
    const { applied, missing } = decideIsolation(level, facts, asked).isolation;
    expect(applied).toEqual(expect.arrayContaining(["namespaces", "namespaces: user", "jail", "user"]));
    expect(missing).toEqual([]);
  }
  const withoutCgroup = hostFacts(["cgroup"], { isRoot: false, rights: { kind: "user-namespace" } });
  expect(() => decideIsolation("strict", withoutCgroup, asked)).toThrow("cgroup: no cgroup");
});
