import { costOf, countOf, recordOf, textOf } from "./json-record.ts";
import type { AgentFact, LineReader } from "./protocol.ts";

/** `opencode run --format json`. Calls are told when they have ended. */
export const opencode: LineReader = (line) => {
  const part = recordOf(line["part"]);
  switch (line["type"]) {
    case "step_start":
      return [{ kind: "session", id: textOf(line["sessionID"]) }];
    case "tool_use":
      return toolIn(part);
    case "text": {
      const text = textOf(part["text"]);
      return text === undefined ? [] : [{ kind: "said", text }];
    }
    case "step_finish": {
      const tokens = recordOf(part["tokens"]);
      const { read, write } = recordOf(tokens["cache"]);
      const tokensIn = countOf(tokens["input"]) + countOf(read) + countOf(write);
      const tokensOut = countOf(tokens["output"]) + countOf(tokens["reasoning"]);
      return [{ kind: "spent", tokensIn, tokensOut, costUsd: costOf(part["cost"]) }];
    }
    default:
      return [];
  }
};

function toolIn(part: ReturnType<typeof recordOf>): AgentFact[] {
  const id = textOf(part["callID"]);
  if (id === undefined) return [];
  const state = recordOf(part["state"]);
  const { exit } = recordOf(state["metadata"]);
  const isFailed = state["status"] === "error" || (typeof exit === "number" && exit !== 0);
  const output = textOf(state["output"]) ?? textOf(state["error"]) ?? "";
  const isRefused =
    state["status"] === "error" && /rejected permission|prevents you from using/i.test(output);
  return [
    { kind: "called", id, tool: textOf(part["tool"]) ?? "tool", input: recordOf(state["input"]) },
    { kind: "answered", id, isFailed, isRefused, output },
  ];
}
