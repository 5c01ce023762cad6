import { type Dialect, type Reply, record, records, text, tokens, toolOf, wordsIn } from "./dialect.ts";

/** OpenAI's chat completions, which most servers of models speak. */
export const openaiChat: Dialect = {
  isTurn: (path) => path.endsWith("/chat/completions"),
  isStreamed: (_, { stream }) => stream === true,
  read({ model, messages, tools }) {
    const said = records(messages);
    const calls = said
      .flatMap(({ tool_calls }) => records(tool_calls))
      .map((call) => record(call["function"]));
    const offered = records(tools).map((tool) => record(tool["function"]));
    return {
      model: text(model),
      text: wordsIn(messages),
      tools: offered.map(({ name, parameters }) => toolOf(name, parameters)),
      calls: calls.map(({ name, arguments: args }) => ({ name: text(name), args: text(args) })),
      lastResult: wordsIn(said.findLast(({ role }) => role === "tool")),
    };
  },
  stream(reply) {
    const head = headOf(reply, "chat.completion.chunk");
    const delta = { role: "assistant", ...messageOf(reply) };
    return [
      { data: { ...head, choices: [{ index: 0, delta, finish_reason: null }] } },
      { data: { ...head, choices: [{ index: 0, delta: {}, finish_reason: finishOf(reply) }] } },
      { data: { ...head, choices: [], usage } },
      { data: "[DONE]" },
    ];
  },
  whole(reply) {
    const message = { role: "assistant", ...messageOf(reply) };
    const choices = [{ index: 0, message, finish_reason: finishOf(reply) }];
    return { ...headOf(reply, "chat.completion"), choices, usage };
  },
};

const usage = {
  prompt_tokens: tokens.input,
  completion_tokens: tokens.output,
  total_tokens: tokens.input + tokens.output,
};

function headOf({ id, model }: Reply, object: string) {
  return { id: `chatcmpl-${id}`, object, created: 0, model };
}

function messageOf(reply: Reply) {
  if (!("call" in reply)) return { content: reply.say };
  const { name, args } = reply.call;
  const call = { name, arguments: JSON.stringify(args) };
  return {
    content: null,
    tool_calls: [{ index: 0, id: `call_${reply.id}`, type: "function", function: call }],
  };
}

function finishOf(reply: Reply): string {
  return "call" in reply ? "tool_calls" : "stop";
}
