import { followFile } from "../../../output/folder/follow-file.ts";
import type { AgentLog } from "./agent-log.ts";
import { claudeStream } from "./claude-stream.ts";
import { codexJson } from "./codex-json.ts";
import { geminiStream } from "./gemini-stream.ts";
import { type JsonRecord, recordOf } from "./json-record.ts";
import { opencode } from "./opencode.ts";
import type { LineReader, StreamProtocol } from "./protocol.ts";
import { AgentLines } from "./read-lines.ts";

const readers: Readonly<Record<StreamProtocol, LineReader>> = {
  "claude-stream": claudeStream,
  "codex-json": codexJson,
  "gemini-stream": geminiStream,
  opencode,
};

/** Reads an agent's stdout while it grows, and notes what it tells; resolves when all of it was read. */
export async function followStream(
  protocol: StreamProtocol,
  log: AgentLog,
  { path, ended, signal }: { path: string; ended: AbortSignal; signal?: AbortSignal | undefined },
): Promise<void> {
  const lines = new AgentLines();
  for await (const bytes of followFile({ path, offset: 0, ended, signal }))
    for (const line of lines.push(bytes)) noteLine(protocol, log, line);
  noteLine(protocol, log, lines.rest);
}

/** A line that is not JSON, or not known, is output like any other. */
export function noteLine(protocol: StreamProtocol, log: AgentLog, line: string): void {
  const record = parseLine(line);
  if (record === null) return;
  for (const fact of readers[protocol](record)) log.note(fact);
}

function parseLine(line: string): JsonRecord | null {
  if (!line.startsWith("{")) return null;
  try {
    return recordOf(JSON.parse(line));
  } catch {
    // Agents print other lines, too.
    return null;
  }
}
