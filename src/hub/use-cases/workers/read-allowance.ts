import type { JobDocument } from "../../../contract/document.ts";
import {
  type AgentBudget,
  type Allowance,
  allowanceOf,
  budgetParts,
  nothingSpent,
  type Spent,
  spentBy,
  utcDay,
} from "../../../core/agents/agent-budget.ts";
import { agentBudgetOf } from "../../../core/jobs/quota.ts";
import type { HubDeps } from "../../deps.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { findHeldJob } from "./find-held-job.ts";

/** How much the agent of this attempt may report in all; without limits that do not exist. Why: ADR 0145. */
export async function readAllowance(
  deps: HubDeps,
  call: AttemptCall,
): Promise<{ job?: Allowance; tenant?: Allowance }> {
  const { job, document } = await findHeldJob(deps, call);
  const { latest, all } = spentBy(job);
  const { run } = JSON.parse(document) as JobDocument;
  const budget = run.kind === "delegate" ? run.budget : undefined;
  const quota = agentBudgetOf(await deps.store.getQuota({ tenantId: job.tenantId }));
  const today = isLimit(quota) ? await spentToday(deps, job.tenantId) : nothingSpent;
  return {
    ...(budget === undefined ? {} : { job: allowanceOf(budget, { latest, all }) }),
    ...(isLimit(quota) ? { tenant: allowanceOf(quota, { latest, all: today }) } : {}),
  };
}

function isLimit(budget: AgentBudget): boolean {
  return budgetParts.some((part) => budget[part] !== undefined);
}

function spentToday({ store, clock }: HubDeps, tenantId: string): Promise<Spent> {
  return store.getSpending({ tenantId, day: utcDay(clock.nowMs()) });
}
