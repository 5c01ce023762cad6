import type { ConnectError } from "@connectrpc/connect";
import {
  Stream,
  type StreamOutputRequest,
  StreamOutputRequestSchema,
} from "../../contract/gen/writ/v1/job_service_pb.js";
import { invalidArgument, WritError } from "../../core/errors.ts";
import { admitOutputStream } from "../use-cases/access/admit-stream.ts";
import { type Output, openOutput } from "../use-cases/jobs/read-output.ts";
import type { RpcCall, RpcDeps } from "./call.ts";
import { FrameBuffers } from "./frame-buffers.ts";
import { framedBytesMax, frameOutput } from "./grpc-frame.ts";
import { GrpcStream } from "./grpc-stream.ts";
import { jobIdIn, methodPath } from "./job-service.ts";
import { askedCall, serveCall, shownId } from "./serve-call.ts";
import { parseMessage, type Serve } from "./serve-unary.ts";

/** The request is a few short fields. */
const messageBytesMax = 64 * 1024;

const chunkBytesMax = 1024 * 1024;

/** StreamOutput: most of the bytes pass here, so its three known fields are framed by hand, which is twice as fast. */
export function streamOutput(deps: RpcDeps): Serve {
  return async (connection, { request, response }) => {
    const grpc = new GrpcStream({ request, response, messageBytesMax }, deps.clock);
    const asked = askedCall(methodPath("streamOutput"), connection, grpc, request);
    try {
      await serveCall(deps, asked, async (call) => {
        const wanted = parseMessage(StreamOutputRequestSchema, await grpc.readMessage());
        asked.jobId = shownId(wanted.jobId);
        await sendOutput(call, grpc, wanted);
      });
      grpc.end();
    } catch (error) {
      grpc.end(error as ConnectError);
    }
  };
}

async function sendOutput(call: RpcCall, grpc: GrpcStream, wanted: StreamOutputRequest): Promise<void> {
  const { deps, identity, origin, signal } = call;
  const asked = {
    identity,
    origin,
    jobId: jobIdIn(wanted),
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

/** A client that asks for more than there is must not believe that it has everything. */
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
  if (stream === Stream.STDOUT) return "stdout";
  if (stream === Stream.STDERR) return "stderr";
  throw invalidArgument({ path: "stream", message: "must be STDOUT or STDERR" });
}

function offsetOf({ offset }: StreamOutputRequest): number {
  if (offset <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(offset);
  throw invalidArgument({ path: "offset", message: `must be at most ${Number.MAX_SAFE_INTEGER}` });
}

function chunkBytesOf({ maxChunkBytes }: StreamOutputRequest, usual: number): number {
  if (maxChunkBytes <= chunkBytesMax) return maxChunkBytes || usual;
  throw invalidArgument({ path: "max_chunk_bytes", message: `must be at most ${chunkBytesMax}` });
}
