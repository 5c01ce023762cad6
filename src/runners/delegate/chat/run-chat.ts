import { toJson } from "../../../core/text/to-json.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { readPrivateFile } from "../../../runtime/files/private-file.ts";
import type { Logger } from "../../../runtime/log/logger.ts";
import type { Isolation } from "../../../sandbox/sandbox.ts";
import { resultProblem } from "../../read-result.ts";
import {
  failureOutcome,
  type RunContext,
  RunFailure,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../../runner.ts";
import type { Capability } from "../delegate-settings.ts";
import { callEndpoint, connectionFailure, shorten } from "./call-endpoint.ts";
import { type ChatPiece, type ChatUsage, chatProtocols } from "./chat-protocol.ts";

type ChatDeps = { clock: Clock; logger: Logger };

/** What a job of the built-in agent has as its result. */
type ChatResult = { answer: string; model: string; usage?: ChatUsage; finish_reason?: string };

const inProcess: Isolation = { level: "in-process", applied: [], missing: [] };
/** A result has at most 1 MiB, and JSON may take more than a byte for a character of it. */
const answerBytesMax = 512 * 1024;
/** With everything around the answer, such as what a model thinks before it speaks. */
const streamBytesMax = 64 * 1024 * 1024;
const modelCharsMax = 200;

/**
 * Sends the prompt of a delegate job to the endpoint of its model. The answer is written to stdout as it arrives, and is
 * the result when it is complete. When the job is stopped, the connection is closed.
 */
export async function runChat(
  deps: ChatDeps,
  context: RunContext,
  capability: Capability,
): Promise<RunOutcome> {
  const { signal } = context;
  const ended = new AbortController();
  const timer = deps.clock.setTimer(() => ended.abort("late"), capability.timeoutMs);
  const call = AbortSignal.any([signal, ended.signal]);
  try {
    signal.throwIfAborted();
    const key = await readKey(deps, capability);
    // An endpoint may repeat the key that it refuses.
    if (key !== undefined) context.secrets.add({ api_key: key });
    return succeeded(await ask(deps, { context, capability, key, signal: call }));
  } catch (error) {
    if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), context);
    const failure = ended.signal.aborted
      ? late(capability)
      : error instanceof RunFailure
        ? error
        : connectionFailure(capability.model, error);
    if (failure === undefined) throw error;
    return failed(new RunFailure(failure.code, failure.detail, shorten(failure.message)));
  } finally {
    timer.cancel();
    // Ends an answer that is still open and no longer read.
    ended.abort("over");
  }
}

type ChatCall = { context: RunContext; capability: Capability; key: string | undefined; signal: AbortSignal };

async function ask(deps: ChatDeps, { context, capability, key, signal }: ChatCall): Promise<ChatResult> {
  const { endpoint, provider, model } = capability;
  const { run } = context.document;
  if (run.kind !== "delegate") throw new Error(`the chat agent was given a job of kind ${run.kind}`);
  if (endpoint === undefined) {
    const reason = `this worker has no endpoint for ${provider} ${model}`;
    throw new RunFailure("INVALID_JOB", "NO_SUCH_MODEL", reason);
  }
  const reached = { ...capability, endpoint };
  const body = await callEndpoint(deps.clock, {
    capability: reached,
    prompt: run.prompt,
    apiKey: key,
    signal,
  });
  const answer = new Answer(capability, (text) => context.writeOutput(text));
  const { messages, read } = chatProtocols[provider];
  for await (const message of messages(bounded(body, model))) {
    signal.throwIfAborted();
    const piece = read(parseMessage(message, model));
    answer.add(piece);
    if (piece.isLast) break;
  }
  signal.throwIfAborted();
  return answer.finish();
}

/** An answer as it grows. */
class Answer {
  readonly #capability: Capability;
  readonly #write: (text: string) => void;
  #parts: string[] = [];
  #bytes = 0;
  #last: ChatPiece = {};

  constructor(capability: Capability, write: (text: string) => void) {
    this.#capability = capability;
    this.#write = write;
  }

  add({ text, error, ...facts }: ChatPiece): void {
    if (error !== undefined) throw broken(this.#capability.model, `reported an error: ${error}`);
    const known = Object.entries(facts).filter(([, fact]) => fact !== undefined);
    this.#last = { ...this.#last, ...Object.fromEntries(known) };
    if (text === undefined) return;
    this.#bytes += Buffer.byteLength(text);
    this.#write(text);
    if (this.#bytes > answerBytesMax) {
      const reason = `the answer is larger than ${answerBytesMax} bytes; stdout has its beginning`;
      throw new RunFailure("EXECUTION_ERROR", "OUTPUT_LIMIT", reason);
    }
    this.#parts.push(text);
  }

  finish(): ChatResult {
    const { model, usage, finishReason } = this.#last;
    const answer = this.#parts.join("").toWellFormed();
    if (answer !== "" && !answer.endsWith("\n")) this.#write("\n");
    if (finishReason === undefined)
      throw broken(this.#capability.model, "ended before the answer was complete");
    return {
      answer,
      model: (model ?? this.#capability.model).slice(0, modelCharsMax).toWellFormed(),
      ...(usage && { usage }),
      finish_reason: finishReason.slice(0, modelCharsMax).toWellFormed(),
    };
  }
}

function succeeded(result: ChatResult): RunOutcome {
  const resultJson = toJson(result, "result");
  const problem = resultProblem(resultJson);
  if (problem === null) return { kind: "succeeded", resultJson, isolation: inProcess };
  return { kind: "failed", code: "EXECUTION_ERROR", reason: problem, isolation: inProcess };
}

function failed(failure: RunFailure): RunOutcome {
  const outcome = failureOutcome(failure);
  return outcome.kind === "failed" ? { ...outcome, isolation: inProcess } : outcome;
}

async function readKey({ logger }: ChatDeps, { apiKeyFile, model }: Capability): Promise<string | undefined> {
  if (apiKeyFile === undefined) return undefined;
  const reason = `the key for ${model} cannot be used on this worker; its log says why`;
  const refuse = (why: string): RunFailure => {
    logger.error({ model, file: apiKeyFile }, `the key of a model cannot be used: ${why}`);
    return new RunFailure("EXECUTION_ERROR", "HTTP_REQUEST_FAILED", reason);
  };
  const text = await readPrivateFile(apiKeyFile).catch((error: Error) => {
    throw refuse(error.message);
  });
  if (text === null) throw refuse("its file does not exist");
  const key = text.trim();
  // It goes into a header, where a line break would begin another one.
  if (!/^[\x21-\x7e]{1,4096}$/.test(key)) throw refuse("its file must contain one word of printable ASCII");
  return key;
}

async function* bounded(body: AsyncIterable<Uint8Array>, model: string): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > streamBytesMax) throw broken(model, `sent more than ${streamBytesMax} bytes`);
    yield chunk;
  }
}

function parseMessage(text: string, model: string): Record<string, unknown> {
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message === "object" && message !== null) return message as Record<string, unknown>;
  } catch {
    // Refused below.
  }
  throw broken(model, "sent something that is not a message of its protocol");
}

function broken(model: string, what: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "HTTP_REQUEST_FAILED", `the endpoint of ${model} ${what}`);
}

function late({ model, timeoutMs }: Capability): RunFailure {
  const limit = `${timeoutMs / 1000} s (the timeout of this model)`;
  return broken(model, `did not finish its answer within ${limit}`);
}
