import type { Command } from "commander";
import type { AttemptChunk, Jobs, OutputStream, StreamAttemptsOptions } from "../../../client/index.ts";
import type { CliContext, TextSink } from "../../context.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { OutputNeutraliser, safeJson } from "../../terminal/terminal.ts";
import { TaleFilter } from "./tale-filter.ts";

/** Help for `--raw`. */
export const rawHelp =
  "do not filter what is printed to a terminal; the job's output can then control the terminal";

type CopyInput = Omit<StreamAttemptsOptions, "signal" | "stream"> & {
  context: CliContext;
  command: Command;
  jobId: string;
  stream: OutputStream;
  sink: TextSink;
  raw: boolean;
  /** Whether a terminal is told in other words what the agent tells in lines of JSON. */
  isTold?: boolean | undefined;
  signal: AbortSignal;
};

/** Copies a job's output: byte for byte to a pipe, made safe to a terminal, or as one JSON object per chunk. */
export async function copyOutput(jobs: Jobs, input: CopyInput): Promise<void> {
  const { context, command, jobId, stream, sink, raw, isTold = false, signal, ...options } = input;
  const text = new OutputNeutraliser();
  const tale = new TaleFilter();
  const shown = (piece: string): string => (isTold ? tale.push(piece) : piece);
  const isTerminal = sink.isTTY === true && !raw && !wantsJson(command);
  const show = ({ attempt, offset, data }: AttemptChunk): string | Uint8Array => {
    if (wantsJson(command)) return `${safeJson({ stream, attempt, offset, data: base64(data) })}\n`;
    return isTerminal ? shown(text.push(data)) : data;
  };
  for await (const chunk of jobs.stream(jobId, { ...options, stream, signal })) {
    await writeSlowly(context, show(chunk), signal, sink);
  }
  if (isTerminal) await writeSlowly(context, `${shown(text.end())}${tale.end()}`, signal, sink);
}

function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}
