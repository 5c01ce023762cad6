import { costOf, countOf, type JsonRecord, recordOf, recordsIn, textOf, wordsOf } from "./json-record.ts";
import type { AgentFact, LineReader } from "./protocol.ts";

/** `claude -p --output-format stream-json --verbose`. */
export const claudeStream: LineReader = (line) => {
  switch (line["type"]) {
    case "system":
      return line["subtype"] === "init"
        ? [{ kind: "session", id: textOf(line["session_id"]), model: textOf(line["model"]) }]
        : [];
    case "assistant":
      return ofAssistant(recordOf(line["message"]));
    case "user":
      return ofResults(line);
    case "result":
      return ofEnd(line);
    default:
      return [];
  }
};

/** One message of the model may come in several lines, each with the tokens of all. */
function ofAssistant({ id, content, usage }: JsonRecord): AgentFact[] {
  const facts = recordsIn(content).flatMap((part): AgentFact[] => {
    const [text, callId] = [textOf(part["text"]), textOf(part["id"])];
    if (part["type"] === "text" && text !== undefined) return [{ kind: "said", text }];
    if (part["type"] !== "tool_use" || callId === undefined) return [];
    return [
      { kind: "called", id: callId, tool: textOf(part["name"]) ?? "tool", input: recordOf(part["input"]) },
    ];
  });
  const turn = textOf(id);
  return turn === undefined ? facts : [...facts, { kind: "spent", turn, ...tokensOf(recordOf(usage)) }];
}

function tokensOf(usage: JsonRecord): { tokensIn: number; tokensOut: number } {
  const parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
  const tokensIn = parts.reduce((sum, part) => sum + countOf(usage[part]), 0);
  return { tokensIn, tokensOut: countOf(usage["output_tokens"]) };
}

function ofResults(line: JsonRecord): AgentFact[] {
  const denied = new Set(
    recordsIn(line["tool_result_meta"])
      .filter((meta) =>
        ["deny", "reject"].includes(String(recordOf(meta["permission_decision"])["decision"])),
      )
      .map(({ id }) => id),
  );
  return recordsIn(recordOf(line["message"])["content"]).flatMap((part): AgentFact[] => {
    const id = textOf(part["tool_use_id"]);
    if (part["type"] !== "tool_result" || id === undefined) return [];
    const output = wordsOf(part["content"]);
    return [{ kind: "answered", id, isFailed: part["is_error"] === true, isRefused: denied.has(id), output }];
  });
}

function ofEnd(line: JsonRecord): AgentFact[] {
  const refused = recordsIn(line["permission_denials"]).flatMap((denial): AgentFact[] => {
    const id = textOf(denial["tool_use_id"]);
    return id === undefined ? [] : [{ kind: "answered", id, isFailed: true, isRefused: true, output: "" }];
  });
  const costUsd = costOf(line["total_cost_usd"]);
  return [...refused, { kind: "total", ...tokensOf(recordOf(line["usage"])), costUsd }];
}
