import type { JobState } from "./job.ts";

/**
 * The six states and every transition. A change that is not in this table is a conflict and changes nothing.
 * docs/states.md draws it, and a test compares the two.
 */
export const transitions = [
  { act: "claim", from: ["pending"], to: ["assigned"] },
  { act: "refuse", from: ["pending"], to: ["failed"] },
  { act: "expire", from: ["pending"], to: ["failed"] },
  { act: "expire", from: ["assigned"], to: ["assigned"] },
  { act: "expire", from: ["running"], to: ["running"] },
  { act: "start", from: ["assigned", "running"], to: ["running"] },
  { act: "renew", from: ["assigned"], to: ["assigned"] },
  { act: "renew", from: ["running"], to: ["running"] },
  { act: "progress", from: ["assigned"], to: ["assigned"] },
  { act: "progress", from: ["running"], to: ["running"] },
  { act: "agent", from: ["assigned"], to: ["assigned"] },
  { act: "agent", from: ["running"], to: ["running"] },
  { act: "stopped", from: ["assigned"], to: ["assigned"] },
  { act: "stopped", from: ["running"], to: ["running"] },
  { act: "release", from: ["assigned", "running"], to: ["pending", "failed", "quarantined"] },
  { act: "reject", from: ["assigned", "running"], to: ["pending", "failed"] },
  { act: "recall", from: ["assigned", "running"], to: ["pending", "failed"] },
  { act: "result", from: ["assigned", "running"], to: ["completed", "failed"] },
  { act: "fail", from: ["assigned", "running"], to: ["pending", "failed", "quarantined"] },
  { act: "disconnect", from: ["assigned", "running"], to: ["pending", "failed", "quarantined"] },
  { act: "timeout", from: ["assigned", "running"], to: ["pending", "failed", "quarantined"] },
  { act: "abandon", from: ["assigned", "running"], to: ["failed"] },
  { act: "cancel", from: ["pending"], to: ["failed"] },
  { act: "cancel", from: ["assigned"], to: ["assigned"] },
  { act: "cancel", from: ["running"], to: ["running"] },
  { act: "supersede", from: ["pending"], to: ["failed"] },
  { act: "postpone", from: ["pending"], to: ["pending"] },
  { act: "hold", from: ["pending"], to: ["pending"] },
  { act: "resume", from: ["pending"], to: ["pending"] },
  { act: "retry", from: ["failed", "quarantined"], to: ["pending"] },
] as const satisfies readonly { act: string; from: readonly JobState[]; to: readonly JobState[] }[];

export type Act = (typeof transitions)[number]["act"];

const targets = new Map<string, ReadonlySet<JobState>>(
  transitions.flatMap(({ act, from, to }) => from.map((state) => [`${act} ${state}`, new Set<JobState>(to)])),
);

/** Whether this act is possible in this state. */
export function isAllowed(act: Act, from: JobState): boolean {
  return targets.has(`${act} ${from}`);
}

/** Whether this act can lead from one state to the other. */
export function leadsTo(act: Act, from: JobState, to: JobState): boolean {
  return targets.get(`${act} ${from}`)?.has(to) ?? false;
}
