import { messageTool } from "../../../core/agents/agent-use.ts";

/** A call of an agent as an event has it. An event of a newer hub may have less, or more. */
export type ToldCall = {
  tool?: string | undefined;
  title?: string | undefined;
  call_status?: string | undefined;
};

/** One line about a call, once it has ended; undefined for one that still runs. */
export function callText({ tool = "", title = "", call_status: status = "" }: ToldCall): string | undefined {
  if (status === "running") return undefined;
  if (tool === messageTool) return `agent: ${title}`;
  const end = status === "completed" ? "" : ` (${status})`;
  return `agent: ${[tool, title].filter((word) => word !== "").join(" ")}${end}`;
}
