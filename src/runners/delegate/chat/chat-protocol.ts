import type { Provider } from "../../../core/jobs/document.ts";
import { parseSse } from "../../../runtime/http/sse.ts";
import { LineSplitter } from "../../../runtime/line-splitter.ts";

/** One piece of an answer, as every provider's messages are read. */
export type ChatPiece = {
  text?: string | undefined;
  model?: string | undefined;
  usage?: ChatUsage | undefined;
  /** Why the model stopped; the answer is complete when this has arrived. */
  finishReason?: string | undefined;
  /** Whether this is the last piece. */
  isLast?: boolean | undefined;
  /** What went wrong at the endpoint in the middle of the answer. */
  error?: string | undefined;
};

export type ChatUsage = { prompt_tokens: number; completion_tokens: number };

/** How the models of a provider are called, and how their answers are read. */
type ChatProtocol = {
  /** Appended to the endpoint's address. */
  path: string;
  accept: string;
  body(model: string, prompt: string): object;
  /** The messages of an answer, each as JSON text. */
  messages(body: AsyncIterable<Uint8Array>): AsyncGenerator<string>;
  read(message: Record<string, unknown>): ChatPiece;
};

export const chatProtocols: Readonly<Record<Provider, ChatProtocol>> = {
  OLLAMA: {
    path: "/api/chat",
    accept: "application/x-ndjson",
    body: (model, prompt) => ({ model, messages: userMessage(prompt), stream: true }),
    messages: readLines,
    read: readOllama,
  },
  OPENROUTER: {
    path: "/chat/completions",
    accept: "text/event-stream",
    body: (model, prompt) => ({
      model,
      messages: userMessage(prompt),
      stream: true,
      stream_options: { include_usage: true },
    }),
    messages: readEvents,
    read: readOpenAi,
  },
};

function userMessage(prompt: string): object[] {
  return [{ role: "user", content: prompt }];
}

/** A line for each message; the last one may lack its line break, and is not read if it was cut off. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const lines = new LineSplitter();
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    for (const line of lines.push(decoder.decode(chunk, { stream: true })))
      if (line.trim() !== "") yield line;
  }
  if (lines.rest.trimEnd().endsWith("}")) yield lines.rest;
}

/** An event for each message, and a last one that is no JSON. */
async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of parseSse(body)) {
    if (data === "[DONE]") return;
    yield data;
  }
}

function readOllama(message: Record<string, unknown>): ChatPiece {
  const { message: said, done, done_reason, model, prompt_eval_count, eval_count } = message;
  return {
    text: textOf(objectOf(said)["content"]),
    model: textOf(model),
    error: errorText(message["error"]),
    ...(done === true && {
      isLast: true,
      finishReason: textOf(done_reason) ?? "stop",
      usage: usageOf(prompt_eval_count, eval_count),
    }),
  };
}

function readOpenAi(message: Record<string, unknown>): ChatPiece {
  const { choices, usage, model } = message;
  const choice = objectOf(Array.isArray(choices) ? choices[0] : undefined);
  const used = objectOf(usage);
  return {
    text: textOf(objectOf(choice["delta"])["content"]),
    model: textOf(model),
    error: errorText(message["error"]),
    finishReason: textOf(choice["finish_reason"]),
    usage: usageOf(used["prompt_tokens"], used["completion_tokens"]),
  };
}

/** The message in `error`, which is a text or an object with one; undefined if there is no error. */
export function errorText(error: unknown): string | undefined {
  if (error === undefined || error === null) return undefined;
  return textOf(error) ?? textOf(objectOf(error)["message"]) ?? "an error without a message";
}

function usageOf(prompt: unknown, completion: unknown): ChatUsage | undefined {
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
  if (!isCount(completion)) return undefined;
  // A prompt that the endpoint still had in memory is not counted by all of them.
  return { prompt_tokens: isCount(prompt) ? prompt : 0, completion_tokens: completion };
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
