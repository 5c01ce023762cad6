import type { AgentBudget } from "../agents/agent-budget.ts";

/** How much a tenant may use; a limit that is not set does not exist, except for `max_queues`. Why: ADR 0031. */
export type Quota = {
  max_pending?: number;
  max_queues?: number;
  max_running?: number;
  submits_per_sec?: number;
  max_output_bytes?: number;
  max_artifact_bytes?: number;
  max_schedules?: number;
  max_agent_usd_per_day?: number;
  max_agent_tokens_per_day?: number;
  max_agent_tool_calls_per_day?: number;
  max_webhooks?: number;
  max_hooks?: number;
};

/** Whether a tenant with this many assigned or running jobs may be given one more. */
export function mayRunMore(active: number, { max_running }: Quota): boolean {
  return max_running === undefined || active < max_running;
}

/** Whether a tenant may have this many more pending jobs. */
export function mayWait({ pending, added }: { pending: number; added: number }, maxPending: number): boolean {
  return pending + added <= maxPending;
}

/** Far more types than anybody names by hand; each one that waits costs memory and a little time of the tenant's claims. */
const maxQueuesDefault = 10_000;

/** How many queues of a tenant may hold pending jobs at the same time. */
export function queuesAllowed({ max_queues = maxQueuesDefault }: Quota): number {
  return max_queues;
}

/** What coding agents of a tenant may use in one UTC day. */
export function agentBudgetOf(quota: Quota): AgentBudget {
  return {
    usd: quota.max_agent_usd_per_day,
    tokens: quota.max_agent_tokens_per_day,
    tool_calls: quota.max_agent_tool_calls_per_day,
  };
}

const maxSchedulesDefault = 1_000;

export function schedulesAllowed({ max_schedules = maxSchedulesDefault }: Quota): number {
  return max_schedules;
}

const maxWebhooksDefault = 20;

export function webhooksAllowed({ max_webhooks = maxWebhooksDefault }: Quota): number {
  return max_webhooks;
}

const maxHooksDefault = 100;

export function hooksAllowed({ max_hooks = maxHooksDefault }: Quota): number {
  return max_hooks;
}
