import { countOf, type JsonRecord, recordOf, recordsIn, textOf } from "./json-record.ts";
import type { AgentFact, LineReader } from "./protocol.ts";

/** `codex exec --json`. */
export const codexJson: LineReader = (line) => {
  const item = recordOf(line["item"]);
  switch (line["type"]) {
    case "thread.started":
      return [{ kind: "session", id: textOf(line["thread_id"]) }];
    case "item.started":
      return calledIn(item);
    case "item.completed":
      return [...calledIn(item), ...endedIn(item), ...saidIn(item)];
    case "turn.completed":
      return [{ kind: "spent", ...tokensOf(recordOf(line["usage"])) }];
    default:
      return [];
  }
};

/** The items that are calls; a later line with the same id is the same call. */
function calledIn(item: JsonRecord): AgentFact[] {
  const id = textOf(item["id"]);
  if (id === undefined) return [];
  switch (item["type"]) {
    case "command_execution":
      return [{ kind: "called", id, tool: "command", input: { command: item["command"] } }];
    case "file_change": {
      const paths = recordsIn(item["changes"]).flatMap(({ path }) => textOf(path) ?? []);
      return [{ kind: "called", id, tool: "edit", input: { path: paths[0] }, title: paths.join(", ") }];
    }
    case "mcp_tool_call": {
      const tool = [textOf(item["server"]), textOf(item["tool"])].filter(Boolean).join(".") || "tool";
      return [{ kind: "called", id, tool, input: recordOf(item["arguments"]) }];
    }
    case "web_search":
      return [{ kind: "called", id, tool: "web_search", input: { query: item["query"] } }];
    default:
      return [];
  }
}

function endedIn(item: JsonRecord): AgentFact[] {
  const id = textOf(item["id"]);
  if (id === undefined || calledIn(item).length === 0) return [];
  const { status } = item;
  const output = textOf(item["aggregated_output"]) ?? textOf(recordOf(item["error"])["message"]) ?? "";
  const isFailed = status === "failed" || status === "declined";
  return [{ kind: "answered", id, isFailed, isRefused: status === "declined", output }];
}

function saidIn(item: JsonRecord): AgentFact[] {
  const text = textOf(item["text"]);
  return item["type"] === "agent_message" && text !== undefined ? [{ kind: "said", text }] : [];
}

function tokensOf(usage: JsonRecord): { tokensIn: number; tokensOut: number } {
  return { tokensIn: countOf(usage["input_tokens"]), tokensOut: countOf(usage["output_tokens"]) };
}
