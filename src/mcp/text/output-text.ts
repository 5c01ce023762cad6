import { WritError } from "../../core/errors.ts";
import { neutralise } from "../../core/text/neutralise.ts";
import type { AskedOutput, FoundOutput, McpHub, OutputPart } from "../mcp-hub.ts";
import { endOf, untrustedCharsMax } from "./untrusted.ts";

/** A character takes at most four bytes. */
const bytesPerChar = 4;

type ShownOutput = { size: number; text: string; isCut: boolean };

/** The end of what was written, at most `charsMax` characters and `linesMax` lines. */
export async function readTail(
  hub: McpHub,
  asked: AskedOutput,
  { charsMax = untrustedCharsMax, linesMax }: { charsMax?: number; linesMax?: number | undefined } = {},
): Promise<ShownOutput> {
  const { size, start, bytes } = await readPart(hub, asked, { last: charsMax * bytesPerChar });
  const whole = neutralise(decodeFrom(bytes, start > 0));
  const lines = linesMax === undefined ? whole : lastLines(whole, linesMax);
  const text = endOf(lines, charsMax);
  return { size, text, isCut: start > 0 || text.length < whole.length };
}

function lastLines(text: string, linesMax: number): string {
  let at = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let count = 0; count < linesMax; count++) {
    at = text.lastIndexOf("\n", at - 1);
    if (at <= 0) return at === 0 && count + 1 === linesMax ? text.slice(1) : text;
  }
  return text.slice(at + 1);
}

/** What was written from an offset on, and where to continue: neither ends inside a character. */
export async function readRange(
  hub: McpHub,
  asked: AskedOutput,
  { offset, bytesMax }: { offset: number; bytesMax: number },
): Promise<ShownOutput & { next: number }> {
  const end = offset + Math.min(bytesMax, untrustedCharsMax);
  const { size, bytes } = await readPart(hub, asked, { start: offset, end });
  let used = offset + bytes.length < size ? wholeCharacters(bytes) : bytes.length;
  let text = neutralise(decoder.decode(bytes.subarray(0, used)));
  // A control character is shown as several others.
  while (text.length > untrustedCharsMax) {
    used = wholeCharacters(bytes.subarray(0, Math.floor((used * untrustedCharsMax) / text.length)));
    text = neutralise(decoder.decode(bytes.subarray(0, used)));
  }
  const next = offset + used;
  return { size, text, next, isCut: next < size };
}

const linesOfMatches = 100;
const searchPagesMax = 20;
/** A line is shown this far around a match. */
const lineBytesMax = 400;

type SearchedPage = { offsets: number[]; size: number; next: number | null };
type Found = ShownOutput & { count: number; next: number | null };

/** The last lines that contain a text, each with its offset. */
export async function grepOutput(
  hub: McpHub,
  { jobId, stream, attempt }: AskedOutput,
  { text, ignoreCase, from }: { text: string; ignoreCase?: boolean | undefined; from?: number | undefined },
): Promise<Found> {
  const params = { id: jobId, stream };
  const searchPage = async (start: number): Promise<SearchedPage> => {
    const query = { q: text, attempt, from: start, ignore_case: ignoreCase };
    return (await hub.call("searchOutput", { params, query })).body;
  };
  let next: number | null = from ?? 0;
  let offsets: number[] = [];
  let count = 0;
  let size = 0;
  for (let page = 0; page < searchPagesMax && next !== null; page++) {
    const searched: SearchedPage = await searchPage(next);
    offsets = [...offsets, ...searched.offsets].slice(-linesOfMatches);
    count += searched.offsets.length;
    ({ next, size } = searched);
  }
  const lines: string[] = [];
  let shownTo = -1;
  for (const offset of offsets) {
    if (offset < shownTo) continue;
    const line = await lineAt(hub, { jobId, stream, attempt }, offset);
    shownTo = line.end;
    lines.push(`${line.start}: ${line.text}`);
  }
  const whole = lines.join("\n");
  const shown = endOf(whole, untrustedCharsMax);
  return { size, text: shown, count, next, isCut: shown.length < whole.length };
}

async function lineAt(
  hub: McpHub,
  asked: AskedOutput,
  offset: number,
): Promise<{ start: number; end: number; text: string }> {
  const { start, bytes } = await readPart(hub, asked, {
    start: Math.max(0, offset - lineBytesMax),
    end: offset + lineBytesMax,
  });
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = offset - start;
  const first = buffer.subarray(0, at).lastIndexOf(lineFeed) + 1;
  const after = buffer.indexOf(lineFeed, at);
  const last = after === -1 ? buffer.length : after;
  return {
    start: start + first,
    end: start + last,
    text: neutralise(decodeFrom(buffer.subarray(first, last), true)),
  };
}

const lineFeed = 0x0a;

/** An output that has nothing there yet is empty. */
async function readPart(hub: McpHub, asked: AskedOutput, part: OutputPart): Promise<FoundOutput> {
  try {
    return await hub.readOutput(asked, part);
  } catch (error) {
    if (!(error instanceof WritError) || error.code !== "RANGE_NOT_SATISFIABLE") throw error;
    const size = Number(error.details?.["size"] ?? 0);
    return { size, start: size, bytes: new Uint8Array() };
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** What was cut at its beginning may begin inside a character. */
function decodeFrom(bytes: Uint8Array, isCut: boolean): string {
  let first = 0;
  while (isCut && first < 3 && first < bytes.length && isContinuation(bytes[first]!)) first++;
  return decoder.decode(bytes.subarray(first));
}

/** How many bytes of these end with a whole character. */
function wholeCharacters(bytes: Uint8Array): number {
  let lead = bytes.length - 1;
  while (lead > 0 && bytes.length - lead < bytesPerChar && isContinuation(bytes[lead]!)) lead--;
  const length = lengthOf(bytes[lead] ?? 0);
  return lead > 0 && lead + length > bytes.length ? lead : bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000;
}

function lengthOf(lead: number): number {
  if (lead >= 0b1111_0000) return 4;
  if (lead >= 0b1110_0000) return 3;
  return lead >= 0b1100_0000 ? 2 : 1;
}
