import { type Dialect, type Reply, record, records, text, tokens, toolOf, wordsIn } from "./dialect.ts";

/** Anthropic's Messages: Claude Code, and others with a model of that provider. */
export const anthropicMessages: Dialect = {
  isTurn: (path) => path.endsWith("/messages"),
  isStreamed: (_, { stream }) => stream === true,
  read({ model, system, messages, tools }) {
    const parts = records(messages).flatMap(({ content }) => records(content));
    const calls = parts.filter(({ type }) => type === "tool_use");
    return {
      model: text(model),
      text: wordsIn([system, messages]),
      tools: records(tools).map(({ name, input_schema }) => toolOf(name, input_schema)),
      calls: calls.map(({ name, input }) => ({ name: text(name), args: text(input) })),
      lastResult: wordsIn(parts.findLast(({ type }) => type === "tool_result")),
    };
  },
  stream(reply) {
    const { content, stop_reason, ...message } = messageOf(reply);
    const [block] = content;
    const [start, delta] =
      "call" in reply
        ? [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(reply.call.args) },
          ]
        : [
            { ...block, text: "" },
            { type: "text_delta", text: reply.say },
          ];
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: start },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: tokens.output },
      },
      { type: "message_stop" },
    ];
    return events.map((data) => ({ event: data.type, data }));
  },
  whole: messageOf,
};

function messageOf(reply: Reply) {
  const block =
    "call" in reply
      ? { type: "tool_use", id: `toolu_${reply.id}`, name: reply.call.name, input: record(reply.call.args) }
      : { type: "text", text: reply.say };
  return {
    id: `msg_${reply.id}`,
    type: "message",
    role: "assistant",
    model: reply.model,
    content: [block],
    stop_reason: "call" in reply ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: tokens.input, output_tokens: tokens.output },
  };
}
