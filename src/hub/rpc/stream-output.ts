import { jobService, type streamOutputRequest } from "../../contract/gen/writ/v1/job_service.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";
import { admitOutputStream } from "../use-cases/access/admit-stream.ts";
import { type Output, openOutput } from "../use-cases/jobs/read-output.ts";
import type { RpcCall, RpcDeps } from "./call.ts";
import { FrameBuffers } from "./frame-buffers.ts";
import { framedBytesMax, frameOutput } from "./grpc-frame.ts";
import type { GrpcStream } from "./grpc-stream.ts";
import { jobIdIn } from "./job-id-in.ts";
import { type Serve, serve } from "./serve-call.ts";
import { parseMessage } from "./serve-unary.ts";

type StreamOutputRequest = MessageOf<typeof streamOutputRequest>;

/** The request is a few short fields. */
const messageBytesMax = 64 * 1024;

const chunkBytesMax = 1024 * 1024;

/**
 * StreamOutput. Most bytes of the port pass here, so its three known fields are framed by hand, which is twice as fast.
 */
export function streamOutput(deps: RpcDeps): Serve {
  const { path, input } = jobService.streamOutput;
  return serve(deps, { path, messageBytesMax }, async (call, grpc) => {
    const wanted = parseMessage(input, await grpc.readMessage());
    await sendOutput(call, grpc, wanted);
  });
}

async function sendOutput(call: RpcCall, grpc: GrpcStream, wanted: StreamOutputRequest): Promise<void> {
  const { deps, identity, origin, signal } = call;
  const asked = {
    identity,
    origin,
    jobId: jobIdIn(call, wanted),
    stream: streamOf(wanted),
    attempt: wanted.attempt || undefined,
  };
  const start = offsetOf(wanted);
  const chunkBytes = chunkBytesOf(wanted, deps.settings.streamChunkBytes);
  const output = await openOutput(deps, asked);
  const onEnd = await admitOutputStream(deps, { identity, origin });
  try {
    grpc.begin();
    const end = await sendFrom(start, { output, grpc, chunkBytes, signal });
    if (end === start && start > 0) await refuseBeyondEnd(call, asked, start);
  } finally {
    onEnd();
  }
}

type Sending = { output: Output; grpc: GrpcStream; chunkBytes: number; signal: AbortSignal };

/** Sends everything from this offset on, and returns where it ended. */
async function sendFrom(start: number, { output, grpc, chunkBytes, signal }: Sending): Promise<number> {
  let offset = start;
  for await (const piece of output.follow(start, signal)) {
    for (const span of spansOf(piece, chunkBytes)) {
      const buffer = frameBuffers.take(framedBytesMax(span.length, chunkBytes));
      const bytes = frameOutput(span, { offset, attempt: output.attempt, chunkBytes, into: buffer });
      const { gone } = await grpc.write(bytes, signal);
      void gone.then((isGone) => isGone && frameBuffers.give(buffer));
      offset += span.length;
    }
  }
  return offset;
}

/** Shared by all streams, so that a stream that has caught up and waits holds none. */
const frameBuffers = new FrameBuffers();

/** Tiny messages have headers larger than their data, so fewer of them are sent at once. */
const messagesAtOnceMax = 1024;

function* spansOf(piece: Buffer, chunkBytes: number): Generator<Buffer> {
  const spanBytes = chunkBytes * messagesAtOnceMax;
  for (let at = 0; at < piece.length; at += spanBytes) yield piece.subarray(at, at + spanBytes);
}

/** Refuses an offset beyond the end; otherwise the client would believe that it has everything. */
async function refuseBeyondEnd(
  { deps }: RpcCall,
  asked: Parameters<typeof openOutput>[1],
  start: number,
): Promise<void> {
  const { size } = await openOutput(deps, asked);
  if (start <= size) return;
  throw new WritError("RANGE_NOT_SATISFIABLE", `offset: the output has ${size} bytes`, { size });
}

function streamOf({ stream }: StreamOutputRequest): "stdout" | "stderr" {
  if (stream === "STDOUT") return "stdout";
  if (stream === "STDERR") return "stderr";
  throw invalidArgument({ path: "stream", message: "must be STDOUT or STDERR" });
}

function offsetOf({ offset }: StreamOutputRequest): number {
  if (offset <= Number.MAX_SAFE_INTEGER) return offset;
  throw invalidArgument({ path: "offset", message: `must be at most ${Number.MAX_SAFE_INTEGER}` });
}

function chunkBytesOf({ max_chunk_bytes }: StreamOutputRequest, usual: number): number {
  if (max_chunk_bytes <= chunkBytesMax) return max_chunk_bytes || usual;
  throw invalidArgument({ path: "max_chunk_bytes", message: `must be at most ${chunkBytesMax}` });
}
