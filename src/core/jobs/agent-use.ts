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

/** The tool name under which what an agent writes stands among its calls. */
export const messageTool = "message";

/** What readers of a job see: the cost in dollars. */
export type ShownAgentUse = Omit<AgentUse, "cost_micro_usd"> & { cost_usd?: number; reported_by: "agent" };

export function shownAgentUse({ cost_micro_usd: micro, ...use }: AgentUse): ShownAgentUse {
  return { ...use, ...(micro === undefined ? {} : { cost_usd: micro / 1e6 }), reported_by: "agent" };
}

/** The agent's own part of a usage, and the rest of it. */
export function withoutAgent<Rest extends object>(
  usage: (Rest & { agent?: AgentUse }) | null,
): { agent: AgentUse | null; usage: Rest | null } {
  if (usage === null) return { agent: null, usage: null };
  const { agent, ...rest } = usage;
  return { agent: agent ?? null, usage: rest as unknown as Rest };
}

/** The details of an event for one call. */
export function callDetails({ call, tool, title, path, status }: AgentCall): JsonObject {
  return { call, tool, title, ...(path === undefined ? {} : { path }), call_status: status };
}
