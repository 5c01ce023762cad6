/**
 * What hubs have learned to accept from workers since version 0.1: fields, and calls under the last part of their path. A
 * hub names them in the answer to a registration. A worker uses none that its hub has not named, so it never has to try. A
 * field of a registration or a report, or a call, that is newer than 0.1 gets a name here. Why: ADR 0114.
 */
export const hubAbilities = [
  "agent",
  "agent_problems",
  "batch-lease",
  "budget",
  "ends",
  "final",
  "refused-claims",
  "retry_in_sec",
  "stopped",
] as const;
export type HubAbility = (typeof hubAbilities)[number];

export const abilitiesHeader = "Writ-Accepts";

/** The abilities that a header names. A hub of version 0.1 sends none; names from a newer hub are ignored. */
export function readAbilities(header: string | undefined): ReadonlySet<HubAbility> {
  const names = header?.split(",").map((name) => name.trim()) ?? [];
  return new Set(hubAbilities.filter((ability) => names.includes(ability)));
}
