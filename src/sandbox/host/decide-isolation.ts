import type { Limits } from "../../core/limits.ts";
import { type LimitPart, limitKeys, limitParts } from "../cgroup/cgroup-limits.ts";
import {
  type Asked,
  type AskedLimits,
  type Isolation,
  type IsolationLevel,
  type JobMount,
  SandboxUnavailable,
} from "../sandbox.ts";
import {
  type HostFacts,
  idmapParts,
  isKernelNewEnough,
  type PartName,
  protectionBits,
  protectionParts,
} from "./host-facts.ts";
import { type Rlimit, rlimitNet } from "./rlimit-net.ts";

type Lacking = { part: PartName; why: string };

export type Decision = {
  isolation: Isolation;
  /** PROTECT_… bits for the launcher. */
  protections: number;
  /** The limits that a cgroup enforces. */
  limits: Limits;
  /** The rlimits of a job that no cgroup limits. */
  rlimits: Rlimit[];
};

/** Strict if the host supports everything, else best-effort. */
export function defaultLevel(facts: HostFacts): Exclude<IsolationLevel, "none"> {
  const hasAll =
    facts.isRoot &&
    facts.launcherObstacle === null &&
    isKernelNewEnough(facts.kernel) &&
    limitParts.every((part) => facts.controllers.includes(part));
  return hasAll ? "strict" : "best-effort";
}

/**
 * Decides the isolation of a process on this host. Throws SandboxUnavailable if the level requires more. Why: ADR 0039,
 * ADR 0040.
 */
export function decideIsolation(
  level: Exclude<IsolationLevel, "none">,
  facts: HostFacts,
  asked: Asked,
): Decision {
  const { limits, mounts = [] } = asked;
  const obstacle = hostObstacle("best-effort", facts);
  if (obstacle !== null) throw new SandboxUnavailable(obstacle, { isHostDown: true });
  const wanted = wantedParts(limits, mounts);
  const applied = wanted.filter((part) => facts.parts[part].had);
  const missing = wanted
    .filter((part) => !facts.parts[part].had)
    .map((part) => ({ part, why: facts.parts[part].why }));
  if (level === "strict") refuseIfNeeded(missing, asked);
  refuseMounts(facts, mounts);
  refuseOpenNetwork(facts, limits);
  const decision = {
    isolation: { level, applied: withWay(applied, facts, limits), missing },
    protections: applied.reduce((bits, part) => bits | (protectionBits[part] ?? 0), 0),
    limits: keepOnly(limits, applied),
    rlimits: [],
  };
  return withNet(decision, facts, asked, missing);
}

/** The decision without parts that turned out to be unavailable. Throws as above. */
export function decideWithout(
  decision: Decision,
  facts: HostFacts,
  { asked, lacking }: { asked: Asked; lacking: readonly Lacking[] },
): Decision {
  const { level, applied, missing } = decision.isolation;
  if (level === "strict") refuseIfNeeded(lacking, asked);
  const left = applied.filter((name) => !lacking.some(({ part }) => part === name));
  const without = {
    ...decision,
    isolation: { level, applied: left, missing: [...missing, ...lacking] },
    limits: keepOnly(decision.limits, left as PartName[]),
  };
  return withNet(without, facts, asked, lacking);
}

/**
 * Why no process at all can be started here; null when one can. Strict needs every protection. Best-effort does without
 * any of them, except that a worker which runs as root never runs a job as root.
 */
export function hostObstacle(level: Exclude<IsolationLevel, "none">, facts: HostFacts): string | null {
  const needed = level === "strict" ? protectionParts : facts.isRoot ? (["user"] as const) : [];
  const missing = needed.filter((part) => !facts.parts[part].had);
  return missing.length === 0 ? null : missing.map((part) => `${part}: ${facts.parts[part].why}`).join("; ");
}

/**
 * In a user namespace a job is the user nobody only in its cage; on the host it is still the worker's user, so this is
 * recorded. So is that there is one way out of a network.
 */
function withWay(applied: readonly PartName[], { rights }: HostFacts, { network }: Limits): string[] {
  const isUser = rights.kind === "user-namespace";
  return applied.flatMap((part) => {
    if (part === "namespaces" && isUser) return [part, "namespaces: user"];
    return part === "network" && network === "closed" ? [part, closedNetwork] : [part];
  });
}

/** As it is recorded. */
const closedNetwork = "network: closed";

/** A limit that no cgroup enforces stays missing; an rlimit in its place is recorded as an rlimit. */
function withNet(decision: Decision, facts: HostFacts, asked: Asked, lacking: readonly Lacking[]): Decision {
  const { isolation, rlimits } = decision;
  const nets = rlimitNet(
    facts,
    asked,
    lacking.map(({ part }) => part),
  );
  const missing = isolation.missing.map((lack) => {
    const net = nets.find(({ part }) => part === lack.part);
    return net?.holds === undefined ? lack : { ...lack, why: `${lack.why}; instead ${net.holds}` };
  });
  return {
    ...decision,
    isolation: {
      ...isolation,
      applied: [...isolation.applied, ...nets.map(({ name }) => name)],
      missing,
    },
    rlimits: [...rlimits, ...nets.map(({ rlimit }) => rlimit)],
  };
}

function wantedParts(limits: Limits, mounts: readonly JobMount[]): PartName[] {
  const network: PartName[] = limits.network === "host" ? [] : ["network"];
  const idmap: PartName[] = mounts.some(({ idmapped }) => idmapped !== undefined) ? ["idmap"] : [];
  return [
    ...protectionParts,
    ...network,
    ...idmap,
    ...limitParts.filter((part) => limits[limitKeys[part]] !== null),
  ];
}

function keepOnly(limits: Limits, applied: readonly PartName[]): Limits {
  const kept = { ...limits };
  for (const part of limitParts) if (!applied.includes(part)) kept[limitKeys[part]] = null;
  return kept;
}

function isLimit(part: PartName): part is LimitPart {
  return (limitParts as readonly PartName[]).includes(part);
}

/** A protection may never be missing; a limit may, if it was only a default. */
function refuseIfNeeded(lacking: readonly Lacking[], { asked }: AskedLimits): void {
  const refused = lacking.filter(({ part }) => !isLimit(part) || asked.includes(limitKeys[part]));
  if (refused.length === 0) return;
  // A host without idmapped mounts can run every job that needs none; a missing limit may concern any job.
  const isHostDown = refused.some(({ part }) => part !== "idmap");
  throw new SandboxUnavailable(refused.map(({ part, why }) => `${part}: ${why}`).join("; "), { isHostDown });
}

/** At every level: a job that expects its mounts must not run without them. */
function refuseMounts(facts: HostFacts, mounts: readonly JobMount[]): void {
  if (mounts.length === 0) return;
  const needed: readonly PartName[] = mounts.some(({ idmapped }) => idmapped !== undefined)
    ? idmapParts
    : ["jail"];
  const lacking = needed.filter((part) => !facts.parts[part].had);
  if (lacking.length === 0) return;
  const why = lacking.map((part) => `${part}: ${facts.parts[part].why}`).join("; ");
  throw new SandboxUnavailable(`the job's mounts cannot be made: ${why}`, { isHostDown: false });
}

/** At every level: a job that may reach a few hosts must not reach all of them. */
function refuseOpenNetwork({ parts }: HostFacts, { network }: Limits): void {
  if (network !== "closed" || parts.network.had) return;
  const why = `the network cannot be closed: ${parts.network.why}`;
  throw new SandboxUnavailable(why, { isHostDown: false });
}
