import type { ReactNode } from "react";

/** One row of the list of things that need attention. */
export type Item = {
  key: string;
  /** The smaller, the more urgent. */
  rank: number;
  state: string;
  icon: ReactNode;
  text: ReactNode;
  note: ReactNode;
  act?: { label: string; href: string };
};

/**
 * Jobs that cannot run come first, then lost workers, then jobs that failed or are late, and last what can wait a day.
 */
export const ranks = {
  unrunnable: 0,
  sandbox: 1,
  silent: 2,
  blocked: 3,
  expired: 4,
  deadLetters: 5,
  longWaits: 6,
  expiring: 7,
  keyDue: 8,
  noAlerts: 9,
  isolation: 10,
} as const;

const namedMax = 3;

/** `oak-01, oak-02, oak-03 and 4 more`. */
export function namesText(names: readonly string[]): string {
  const rest = names.length - namedMax;
  if (rest > 0) return `${names.slice(0, namedMax).join(", ")} and ${rest} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
