import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { argumentInputBytesMax } from "../contract/define-kind.ts";
import { type AgentPayload, agentPayload } from "../contract/shapes/agent-shapes.ts";
import { codeOf, invalidArgument, WritError } from "../core/errors.ts";
import { type JsonValue, toPlain } from "../core/text/json-value.ts";
import { canonicalize } from "../signing/canonical.ts";
import { parseJson } from "../signing/parse-json.ts";

export type ReadPayload = AgentPayload & {
  /** The job's input as JSON text, with its numbers as they were written. */
  inputJson: string;
};

/** A job document has at most 1 MiB, and the rest of a payload is small. */
const payloadBytesMax = 4 * 1024 * 1024;

export function readPayload(text: string): ReadPayload {
  const value = parsePayload(text);
  const parsed = agentPayload.safeParse(toPlain(value));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = `payload.${issue!.path.join(".")}`.replace(/\.$/, "");
    const message = issue!.code === "invalid_key" ? issue!.issues[0]!.message : issue!.message;
    throw invalidArgument({ path, message });
  }
  const input = (value as { job_input?: JsonValue }).job_input ?? null;
  const inputJson = canonicalize(input);
  if (parsed.data.interface.kind === "exec_per_job") checkArgument(inputJson);
  return { ...parsed.data, inputJson };
}

/** The input of such a job is an argument of its process. */
function checkArgument(inputJson: string): void {
  const bytes = Buffer.byteLength(inputJson);
  if (bytes <= argumentInputBytesMax) return;
  const message = `must be at most ${argumentInputBytesMax} bytes, is ${bytes}; put it into a file`;
  throw invalidArgument({ path: "payload.job_input", message });
}

export type JobNames = Pick<AgentPayload, "job_id" | "job_class">;

/** Which job a payload is about that is wrong elsewhere, as far as that can be told. */
export function namesIn(text: string): Partial<JobNames> {
  try {
    const value = toPlain(parseJson(text)) as Partial<Record<keyof JobNames, unknown>> | null;
    const id = agentPayload.shape.job_id.safeParse(value?.job_id);
    const type = agentPayload.shape.job_class.safeParse(value?.job_class);
    return { ...(id.success ? { job_id: id.data } : {}), ...(type.success ? { job_class: type.data } : {}) };
  } catch {
    // The caller reports what is wrong with the text.
    return {};
  }
}

function parsePayload(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    throw new WritError(error.code, `the payload is not JSON: ${error.message}`);
  }
}

export function decodePayload(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === base64.trim().replace(/=+$/, ""))
    return bytes.toString("utf8");
  throw new WritError("INVALID_ARGUMENT", "--payload-base64: the value is not base64");
}

export async function readPayloadFile(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      if (size > payloadBytesMax) throw tooLarge();
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof WritError) throw error;
    throw new WritError("INVALID_ARGUMENT", `--payload-file: ${path} cannot be read: ${codeOf(error)}`);
  }
}

/** Everything on standard input. */
export async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > payloadBytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The lines on standard input, one at a time, for as long as the caller keeps it open. Its end means that the caller is
 * gone.
 */
export async function* readLines(input: Readable): AsyncGenerator<string> {
  let held = Buffer.alloc(0);
  for await (const chunk of input as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    for (let end = held.indexOf(0x0a); end !== -1; end = held.indexOf(0x0a)) {
      yield held.toString("utf8", 0, end);
      held = held.subarray(end + 1);
    }
    if (held.length > payloadBytesMax) throw tooLarge();
  }
}

function tooLarge(): WritError {
  return new WritError("TOO_LARGE", `the payload is larger than ${payloadBytesMax} bytes`);
}
