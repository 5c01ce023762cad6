import {
  type Dialect,
  type JsonRecord,
  type Reply,
  records,
  text,
  tokens,
  toolOf,
  wordsIn,
} from "./dialect.ts";

/** OpenAI's Responses: Codex, and others with a model of that provider. */
export const openaiResponses: Dialect = {
  isTurn: (path) => path.endsWith("/responses"),
  isStreamed: (_, { stream }) => stream === true,
  read({ model, instructions, input, tools }) {
    const items = records(input);
    const calls = items.filter(({ type }) => text(type).endsWith("_call"));
    return {
      model: text(model),
      text: wordsIn([instructions, input]),
      tools: functionsIn(tools).map(({ name, parameters }) => toolOf(name, parameters)),
      calls: calls.map(({ name, arguments: args, input: words }) => ({
        name: text(name),
        args: text(args ?? words),
      })),
      lastResult: wordsIn(items.findLast(({ type }) => text(type).endsWith("_call_output"))),
    };
  },
  stream(reply) {
    const response = responseOf(reply);
    const item = itemOf(reply);
    const place = { item_id: item.id, output_index: 0 };
    const begun = { ...response, status: "in_progress", output: [], usage: null };
    const events = [
      { type: "response.created", response: begun },
      { type: "response.output_item.added", output_index: 0, item: { ...item, ...emptied(reply) } },
      ...piecesOf(reply, place),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ];
    return events.map((data, at) => ({ event: data.type, data: { ...data, sequence_number: at } }));
  },
  whole: responseOf,
};

/**
 * Tools of one program may come in groups; a call then names both, and here they are one name. Others than functions, such as a
 * search, cannot be called by name.
 */
function functionsIn(tools: unknown, group = ""): JsonRecord[] {
  return records(tools).flatMap((tool) => {
    const name = `${group}${text(tool["name"])}`;
    if (Array.isArray(tool["tools"])) return functionsIn(tool["tools"], `${name}${groupEnd}`);
    return tool["type"] === "function" ? [{ ...tool, name }] : [];
  });
}

/** Not in the name of any tool. */
const groupEnd = "/";

function piecesOf(reply: Reply, place: object): { type: string }[] {
  if ("call" in reply) {
    const args = JSON.stringify(reply.call.args);
    return [
      { type: "response.function_call_arguments.delta", ...place, delta: args } as { type: string },
      { type: "response.function_call_arguments.done", ...place, arguments: args } as { type: string },
    ];
  }
  const at = { ...place, content_index: 0 };
  const part = { type: "output_text", text: reply.say, annotations: [] };
  const pieces = [
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: reply.say },
    { type: "response.output_text.done", ...at, text: reply.say },
    { type: "response.content_part.done", ...at, part },
  ];
  return pieces;
}

function emptied(reply: Reply): object {
  return { status: "in_progress", ...("call" in reply ? { arguments: "" } : { content: [] }) };
}

function itemOf(reply: Reply) {
  const head = { id: `item_${reply.id}`, status: "completed" };
  if (!("call" in reply)) {
    const content = [{ type: "output_text", text: reply.say, annotations: [] }];
    return { ...head, type: "message", role: "assistant", content };
  }
  const { name: whole, args } = reply.call;
  const [name = "", namespace] = whole.split(groupEnd).reverse();
  return {
    ...head,
    type: "function_call",
    call_id: `call_${reply.id}`,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    arguments: JSON.stringify(args),
  };
}

function responseOf(reply: Reply) {
  return {
    id: `resp_${reply.id}`,
    object: "response",
    created_at: 0,
    model: reply.model,
    status: "completed",
    output: [itemOf(reply)],
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: tokens.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens.input + tokens.output,
    },
  };
}
