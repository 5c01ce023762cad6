import type { JsonObject } from "../text/json-value.ts";

/** Which outcome a coding agent reports of one of its calls. `refused`: it, or the kernel, did not allow it. */
export const callStatuses = ["running", "completed", "failed", "refused"] as const;
type CallStatus = (typeof callStatuses)[number];

/**
 * One call of a tool, as the agent reports it. The tool `message` is no tool: its title is what the agent wrote. `call`
 * counts from 1 within an attempt; a later report of the same call replaces the one before.
 */
export type AgentCall = { call: number; tool: string; title: string; path?: string; status: CallStatus };

/** What an attempt of a coding agent has used, as the agent reports it: numbers that no part of Writ has measured. */
export type AgentUse = {
  tool_calls: number;
  denied: number;
  tokens_in: number;
  tokens_out: number;
  /** Millionths of a dollar: receipts contain whole numbers. */
  cost_micro_usd?: number;
  session_id?: string;
  model?: string;
};

export const unusedAgent: AgentUse = { tool_calls: 0, denied: 0, tokens_in: 0, tokens_out: 0 };

/** The tool name under which what an agent writes stands among its calls. */
export const messageTool = "message";

/** What readers of a job see: the cost in dollars. */
export type ShownAgentUse = Omit<AgentUse, "cost_micro_usd"> & { cost_usd?: number; reported_by: "agent" };

export function shownAgentUse({ cost_micro_usd: micro, ...use }: AgentUse): ShownAgentUse {
  return { ...use, ...(micro === undefined ? {} : { cost_usd: micro / 1e6 }), reported_by: "agent" };
}

type UsageOfAgent<Rest> = Rest & { agent?: AgentUse; earlier?: EarlierUse };
/** What the attempts before have used; dollars in millionths. */
type EarlierUse = { usd: number; tokens: number; tool_calls: number };

/** The agent's own parts of a usage, and the rest of it. */
export function withoutAgent<Rest extends object>(
  usage: UsageOfAgent<Rest> | null,
): { agent: AgentUse | null; earlier: EarlierUse | null; usage: Rest | null } {
  if (usage === null) return { agent: null, earlier: null, usage: null };
  const { agent, earlier, ...rest } = usage;
  const isEmpty = earlier !== undefined && Object.keys(rest).length === 0;
  return {
    agent: agent ?? null,
    earlier: earlier ?? null,
    usage: isEmpty ? null : (rest as unknown as Rest),
  };
}

/** The details of an event for one call. */
export function callDetails({ call, tool, title, path, status }: AgentCall): JsonObject {
  return { call, tool, title, ...(path === undefined ? {} : { path }), call_status: status };
}
