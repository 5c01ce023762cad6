import { type Dialect, type Reply, record, records, text, tokens, toolOf, wordsIn } from "./dialect.ts";

/** Gemini's generateContent. */
export const geminiContent: Dialect = {
  isTurn: (path) => /:(?:streamGenerateContent|generateContent)$/.test(path),
  isStreamed: (path) => path.endsWith(":streamGenerateContent"),
  read({ systemInstruction, contents, tools }) {
    const parts = records(contents).flatMap((content) => records(content["parts"]));
    const called = parts.filter(({ functionCall }) => functionCall !== undefined);
    const calls = called.map(({ functionCall }) => record(functionCall));
    const offered = records(tools).flatMap((tool) => records(tool["functionDeclarations"]));
    return {
      model: "gemini",
      text: wordsIn([systemInstruction, contents]),
      tools: offered.map(({ name, parameters, parametersJsonSchema }) =>
        toolOf(name, parametersJsonSchema ?? parameters),
      ),
      calls: calls.map(({ name, args }) => ({ name: text(name), args: text(args) })),
      lastResult: wordsIn(parts.findLast(({ functionResponse }) => functionResponse !== undefined)),
    };
  },
  stream: (reply) => [{ data: contentOf(reply) }],
  whole: contentOf,
};

function contentOf(reply: Reply) {
  const part =
    "call" in reply
      ? { functionCall: { id: reply.id, name: reply.call.name, args: reply.call.args } }
      : { text: reply.say };
  return {
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: tokens.input,
      candidatesTokenCount: tokens.output,
      totalTokenCount: tokens.input + tokens.output,
    },
    modelVersion: reply.model,
    responseId: reply.id,
  };
}
