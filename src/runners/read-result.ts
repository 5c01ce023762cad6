import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { hasCode, WritError } from "../core/errors.ts";
import { parseJson } from "../signing/parse-json.ts";

/** The result as JSON text; it was parsed strictly, and nothing else about it is trusted. */
export type ReadResult =
  | { kind: "found"; json: string }
  | { kind: "none" }
  /** The job wrote a result that cannot be used. */
  | { kind: "unusable"; problem: string };

const resultBytesMax = 1024 * 1024;

/** The hub accepts 64 levels; some of them belong to the message itself. */
const resultDepthMax = 56;

/** `document`: a JSON document at the end of stdout may have several lines. `file`: what is printed is no result. */
export type ResultForm = "line" | "document" | "file";

type ResultSources = {
  /** Null if the process has left none. */
  resultFile: string | null;
  /** A file, or all that was written. */
  stdout: string | Uint8Array;
  form?: ResultForm | undefined;
};

/** The result of a process: the content of its result file, else what its stdout ends with. */
export async function readResult({ resultFile, stdout, form = "line" }: ResultSources): Promise<ReadResult> {
  const fromFile: ReadResult = resultFile === null ? { kind: "none" } : await readResultFile(resultFile);
  if (fromFile.kind !== "none" || form === "file") return fromFile;
  return typeof stdout === "string"
    ? readPrintedFile(stdout, form)
    : readPrinted(asBuffer(stdout), true, form);
}

/** Checks that a text is JSON that the hub will accept; returns why not. */
export function resultProblem(json: string): string | null {
  if (Buffer.byteLength(json) > resultBytesMax) return `the result is larger than ${resultBytesMax} bytes`;
  try {
    parseJson(json, { maxDepth: resultDepthMax });
    return null;
  } catch (error) {
    if (error instanceof WritError) return `the result is not valid JSON: ${error.message}`;
    throw error;
  }
}

async function readResultFile(path: string): Promise<ReadResult> {
  const file = await openPlain(path);
  if (file === "missing") return { kind: "none" };
  if (file === "refused") return { kind: "unusable", problem: "the result file cannot be read" };
  try {
    const status = await file.stat();
    if (!status.isFile()) return { kind: "unusable", problem: "the result file is not a regular file" };
    // A hard link needs no right to read what it links to.
    if (status.nlink > 1)
      return { kind: "unusable", problem: "the result file has a second name (a hard link)" };
    if (status.size === 0) return { kind: "none" };
    if (status.size > resultBytesMax) {
      return { kind: "unusable", problem: `the result file is larger than ${resultBytesMax} bytes` };
    }
    const text = decodeUtf8(await readAt(file, 0, status.size));
    if (text === null) return { kind: "unusable", problem: "the result file is not UTF-8 text" };
    const problem = resultProblem(text);
    return problem === null ? { kind: "found", json: text } : { kind: "unusable", problem };
  } finally {
    await file.close();
  }
}

async function readPrintedFile(path: string, form: ResultForm): Promise<ReadResult> {
  const file = await openPlain(path);
  if (typeof file === "string") return { kind: "none" };
  try {
    const { size } = await file.stat();
    // One byte more than a line may have, to see where it begins, and some for empty lines after it.
    const length = Math.min(size, resultBytesMax + 1024);
    return readPrinted(await readAt(file, size - length, length), length === size, form);
  } finally {
    await file.close();
  }
}

/** Most programs print for people, so an end that is not JSON simply means no result. */
function readPrinted(tail: Buffer, isWhole: boolean, form: ResultForm): ReadResult {
  const found = asJson(lastLine(tail, isWhole)) ?? (form === "line" ? null : lastDocument(tail, isWhole));
  return found === null ? { kind: "none" } : { kind: "found", json: found };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function lastLine(tail: Buffer, isWhole: boolean): Buffer | null {
  let end = tail.length;
  while (end > 0 && isSpace(tail[end - 1]!)) end--;
  if (end === 0) return null;
  const lineBreak = tail.lastIndexOf(0x0a, end - 1);
  // Without a line break, the line began before what was read, and is too long.
  if (lineBreak === -1 && !isWhole) return null;
  return tail.subarray(lineBreak + 1, end);
}

/**
 * All of it, or what begins with the last line that starts with a bracket. Neither can be the inner part of a document,
 * because that is followed by a bracket which closes nothing.
 */
function lastDocument(tail: Buffer, isWhole: boolean): string | null {
  const brackets = [tail.lastIndexOf("\n{"), tail.lastIndexOf("\n[")];
  const start = Math.max(...brackets) + 1;
  return (isWhole ? asJson(tail) : null) ?? (start === 0 ? null : asJson(tail.subarray(start)));
}

function asJson(bytes: Buffer | null): string | null {
  const text = bytes === null ? null : decodeUtf8(bytes)?.trim();
  return text !== undefined && text !== null && resultProblem(text) === null ? text : null;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

/** The process may have put anything there: a link to a secret of the host, or a pipe that never answers. */
async function openPlain(path: string): Promise<FileHandle | "missing" | "refused"> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return hasCode(error, "ENOENT") ? "missing" : "refused";
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8: the caller refuses the result.
    return null;
  }
}
