import { limitParts } from "./cgroup/cgroup-limits.ts";
import type { HostFacts } from "./host/host-facts.ts";

/**
 * The isolation of jobs on a host in one line. `advice` is the step that would help most; null if nothing is missing.
 */
export type CageSummary = { text: string; advice: string | null };

export function cageSummary(facts: HostFacts): CageSummary {
  const { parts, rights } = facts;
  if (!parts.jail.had || !parts.namespaces.had) {
    const { advice } = parts.jail.had ? parts.namespaces : parts.jail;
    return { text: `jobs are not caged: ${whyNot(facts)}`, advice };
  }
  const missing = limitParts.filter((part) => !parts[part].had);
  const way = rights.kind === "user-namespace" ? "caged without root, in a user namespace" : "caged";
  return {
    text: `${way}, ${limitsText(facts)}`,
    advice: missing[0] === undefined ? null : parts[missing[0]].advice,
  };
}

function whyNot({ launcherObstacle, rights, parts }: HostFacts): string {
  if (launcherObstacle !== null) return `there is no launcher (${launcherObstacle})`;
  if (rights.kind === "none") return `this host forbids user namespaces (${rights.why})`;
  return parts.jail.had ? parts.namespaces.why : parts.jail.why;
}

function limitsText({ parts }: HostFacts): string {
  const had = limitParts.filter((part) => parts[part].had);
  const missing = limitParts.filter((part) => !parts[part].had);
  if (had.length === 0) return "limits by rlimits only";
  const but = missing.length === 0 ? "" : `, but not of ${missing.join(", ")}`;
  return `with limits of ${had.join(", ")}${but}`;
}
