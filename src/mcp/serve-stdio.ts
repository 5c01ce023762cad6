import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { createServer, type ServerOptions } from "./create-server.ts";

type Streams = { stdin: Readable; stdout: Writable; signal: AbortSignal };

/** A message is an answer of a model, and far smaller. */
const messageBytesMax = 1024 * 1024;

/** Answers a program on this machine until it closes our standard input. Why: ADR 0119. */
export async function answerStdio(options: ServerOptions, streams: Streams): Promise<void> {
  const { stdin, stdout, signal } = streams;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: messageBytesMax });
  const handle = serveStdio(() => createServer(options), {
    transport,
    maxSubscriptions: 0,
    onerror: options.onError,
  });
  stdin.once("end", resolve).once("close", resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await over;
  await handle.close();
}
