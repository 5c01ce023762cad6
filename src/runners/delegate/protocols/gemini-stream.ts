import { countOf, recordOf, textOf, wordsOf } from "./json-record.ts";
import type { LineReader } from "./protocol.ts";

/** `gemini --output-format stream-json`. */
export const geminiStream: LineReader = (line) => {
  const id = textOf(line["tool_id"]);
  switch (line["type"]) {
    case "init":
      return [{ kind: "session", id: textOf(line["session_id"]), model: textOf(line["model"]) }];
    case "message": {
      const text = textOf(line["content"]);
      return line["role"] === "assistant" && text !== undefined
        ? [{ kind: "said", text, isPiece: line["delta"] === true }]
        : [];
    }
    case "tool_use": {
      const tool = textOf(line["tool_name"]) ?? "tool";
      return id === undefined ? [] : [{ kind: "called", id, tool, input: recordOf(line["parameters"]) }];
    }
    case "tool_result": {
      if (id === undefined) return [];
      const output = wordsOf([line["output"], line["error"]]);
      return [{ kind: "answered", id, isFailed: line["status"] === "error", output }];
    }
    case "result": {
      const stats = recordOf(line["stats"]);
      const [tokensIn, tokensOut] = [countOf(stats["input_tokens"]), countOf(stats["output_tokens"])];
      return [{ kind: "total", tokensIn, tokensOut }];
    }
    default:
      return [];
  }
};
