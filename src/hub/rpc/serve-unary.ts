import { WritError } from "../../core/errors.ts";
import { decodeMessage } from "../../runtime/grpc/decode-message.ts";
import { encodeMessage } from "../../runtime/grpc/encode-message.ts";
import { frameMessage } from "../../runtime/grpc/message-frames.ts";
import type { MessageInit, MessageOf, WireMessage } from "../../runtime/grpc/wire-message.ts";
import type { RpcCall, RpcDeps } from "./call.ts";
import { type Serve, serve } from "./serve-call.ts";

type Method<I, O> = { path: string; input: I; output: O };

const messageBytesMax = 4 * 1024 * 1024;

/** A method with one message in and one message out. */
export function unary<I extends WireMessage, O extends WireMessage>(
  deps: RpcDeps,
  { path, input, output }: Method<I, O>,
  act: (call: RpcCall, request: MessageOf<I>) => Promise<MessageInit<O>>,
): Serve {
  return serve(deps, { path, messageBytesMax }, async (call, grpc) => {
    const request = parseMessage(input, await grpc.readMessage());
    const bytes = encodeMessage(output, await act(call, request));
    if (bytes.length > messageBytesMax) throw tooLarge(bytes.length);
    grpc.begin();
    await grpc.write(frameMessage(bytes), grpc.signal);
  });
}

/** Refuses an unknown method like any other call: after the caller was identified, and with a line in the log. */
export function unknownMethod(deps: RpcDeps): Serve {
  // The path is the caller's choice, and each one would add a label to the metrics.
  return serve(deps, { path: "unknown", messageBytesMax }, async () => {
    throw new WritError("METHOD_NOT_ALLOWED", "there is no such method; server reflection lists them");
  });
}

export function parseMessage<I extends WireMessage>(input: I, bytes: Buffer): MessageOf<I> {
  try {
    return decodeMessage(input, bytes);
  } catch {
    // The decoder's error names wire types and positions, which do not help a caller.
    throw new WritError("INVALID_ARGUMENT", "the request is not a message of this method");
  }
}

function tooLarge(bytes: number): WritError {
  const message = `the answer would have ${bytes} bytes, and may have ${messageBytesMax}; ask for a smaller page`;
  return new WritError("TOO_LARGE", message);
}
