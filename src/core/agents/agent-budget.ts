import type { JobRecord } from "../jobs/job.ts";
import type { AgentUse } from "./agent-use.ts";

/** What a coding agent may use, as a job or a tenant says it. Why: ADR 0145. */
export type AgentBudget = {
  usd?: number | undefined;
  tokens?: number | undefined;
  tool_calls?: number | undefined;
};

export const budgetParts = ["usd", "tokens", "tool_calls"] as const satisfies (keyof AgentBudget)[];
export type BudgetPart = (typeof budgetParts)[number];

/** Whole numbers; the dollars are millionths, as in an agent's usage. */
export type Spent = { [Part in BudgetPart]: number };

export const nothingSpent: Readonly<Spent> = { usd: 0, tokens: 0, tool_calls: 0 };

/** What agents of this job have spent in all of its attempts. */
type UsedByAgents = { agent?: AgentUse; earlier?: Spent };

export function add(one: Spent, other: Spent): Spent {
  return combined((part) => one[part] + other[part]);
}

/** What was spent since; never less than nothing, because an agent may tell less than before. */
function since(before: Spent, now: Spent): Spent {
  return combined((part) => Math.max(0, now[part] - before[part]));
}

function combined(of: (part: BudgetPart) => number): Spent {
  return { usd: of("usd"), tokens: of("tokens"), tool_calls: of("tool_calls") };
}

export function spentOf(use: AgentUse | undefined): Spent {
  if (use === undefined) return nothingSpent;
  const { cost_micro_usd: usd = 0, tokens_in, tokens_out, tool_calls } = use;
  return { usd, tokens: tokens_in + tokens_out, tool_calls };
}

/** Most jobs have no agent, so the text is not read for them. */
function readUsed(usage: string | null): UsedByAgents | null {
  if (usage === null || !(usage.includes('"agent"') || usage.includes('"earlier"'))) return null;
  try {
    return JSON.parse(usage) as UsedByAgents;
  } catch {
    // Somebody has edited the row, which readers of the job are told.
    return null;
  }
}

/** What the latest attempt has spent, and what all attempts have. */
export function spentBy({ usage }: Pick<JobRecord, "usage">): { latest: Spent; all: Spent } {
  const used = readUsed(usage);
  const latest = spentOf(used?.agent);
  return { latest, all: add(latest, used?.earlier ?? nothingSpent) };
}

/** The usage with which the next attempt begins: what its job has spent so far. */
export function carriedUsage(job: Pick<JobRecord, "usage">): string | null {
  if (readUsed(job.usage) === null) return null;
  return JSON.stringify({ earlier: spentBy(job).all });
}

/** What an attempt reports, with what the attempts before it have spent. */
export function usageWithEarlier(
  { usage: known }: Pick<JobRecord, "usage">,
  reported: string | null,
): string | null {
  if (known === null || !known.includes('"earlier"')) return reported;
  const earlier = readUsed(known)?.earlier;
  if (earlier === undefined) return reported;
  return JSON.stringify({ ...(reported === null ? {} : JSON.parse(reported)), earlier });
}

/** What agents of a tenant have spent, on the day on which they reported it. */
export type Spending = { tenantId: string; day: string; spent: Spent };

/** What a change of a job adds to what its tenant has spent; null for most of them. */
export function spendingOf(before: JobRecord, after: JobRecord, nowMs: number): Spending | null {
  if (after.usage === before.usage || readUsed(after.usage) === null) return null;
  const spent = since(spentBy(before).all, spentBy(after).all);
  if (budgetParts.every((part) => spent[part] === 0)) return null;
  return { tenantId: after.tenantId, day: utcDay(nowMs), spent };
}

export function utcDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/** How much one attempt may report, by who limits it. */
export type Allowance = Partial<Record<BudgetPart, number>>;

/** What is left of a budget for one attempt, which has spent `latest` of what is counted in `all`. */
export function allowanceOf(budget: AgentBudget, { latest, all }: { latest: Spent; all: Spent }): Allowance {
  const left: Allowance = {};
  for (const part of budgetParts) {
    const most = budget[part];
    if (most === undefined) continue;
    left[part] = Math.max(0, wholeOf(part, most) - all[part] + latest[part]);
  }
  return left;
}

function wholeOf(part: BudgetPart, amount: number): number {
  return part === "usd" ? Math.round(amount * 1e6) : amount;
}
