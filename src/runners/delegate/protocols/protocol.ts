import type { BudgetPart } from "../../../core/agents/agent-budget.ts";
import type { JsonRecord } from "./json-record.ts";

/** How agents tell what they do. `text`: not at all. Why: ADR 0132. */
export const protocols = ["claude-stream", "codex-json", "gemini-stream", "opencode", "text"] as const;
export type Protocol = (typeof protocols)[number];
/** Those whose agents print one JSON object in each line. */
export type StreamProtocol = Exclude<Protocol, "text">;

/** What can be limited, because agents of this protocol tell it. Some tell tokens or dollars only when they end. */
export const measuredBy: Readonly<Record<Protocol, readonly BudgetPart[]>> = {
  "claude-stream": ["usd", "tokens", "tool_calls"],
  "codex-json": ["tokens", "tool_calls"],
  "gemini-stream": ["tokens", "tool_calls"],
  opencode: ["usd", "tokens", "tool_calls"],
  text: [],
};

/** One thing that an agent tells, in the same form for every protocol. */
export type AgentFact =
  | { kind: "session"; id?: string | undefined; model?: string | undefined }
  /** `id` is the agent's own name for the call. */
  | { kind: "called"; id: string; tool: string; input: JsonRecord; title?: string | undefined }
  | { kind: "answered"; id: string; isFailed: boolean; isRefused?: boolean; output: string }
  /** `isPiece`: continues the message before it. */
  | { kind: "said"; text: string; isPiece?: boolean }
  /** Of one turn, to be added; a later one of the same turn replaces the one before. */
  | { kind: "spent"; turn?: string; tokensIn: number; tokensOut: number; costUsd?: number | undefined }
  /** Of the whole run, in place of what was added so far. */
  | { kind: "total"; tokensIn: number; tokensOut: number; costUsd?: number | undefined };

/** What a line tells: nothing, if the format does not know it. Never throws. */
export type LineReader = (line: JsonRecord) => AgentFact[];
