import type { Writable } from "node:stream";
import type { OutputStream } from "../core/jobs/output-stream.ts";
import { followFile } from "../output/folder/follow-file.ts";
import { encodeFrame } from "../runners/container/relay-frames.ts";
import type { JobFiles } from "./agent-settings.ts";

/**
 * Passes the job's output on while it is written. The returned function resolves when all of it was passed on, and rejects
 * if some could not be.
 */
export function relayOutput(sink: Writable, files: JobFiles): () => Promise<void> {
  const ended = new AbortController();
  // Tells the worker that the agent is there: from now on the job may have done anything.
  sink.write(encodeFrame("stdout", Buffer.alloc(0)));
  const relayed = Promise.all([
    relay(sink, "stdout", files.stdout, ended.signal),
    relay(sink, "stderr", files.stderr, ended.signal),
  ]);
  // What cannot be followed, such as a file that somebody removes, is reported at the end of the job.
  relayed.catch(() => {});
  return async () => {
    ended.abort();
    await relayed;
  };
}

async function relay(sink: Writable, stream: OutputStream, path: string, ended: AbortSignal): Promise<void> {
  for await (const piece of followFile({ path, offset: 0, ended })) sink.write(encodeFrame(stream, piece));
}
