import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { WritError } from "../../core/errors.ts";
import { frameMessage } from "../../runtime/http/grpc-message.ts";
import type { Connection, RpcCall, RpcDeps } from "./call.ts";
import { GrpcStream } from "./grpc-stream.ts";
import { askedCall, serveCall, shownId } from "./serve-call.ts";

/** The two halves of a call on the HTTP/2 server. */
export type Exchange = { request: Http2ServerRequest; response: Http2ServerResponse };

/** Serves one call of one method. */
export type Serve = (connection: Connection | null, exchange: Exchange) => Promise<void>;

const messageBytesMax = 4 * 1024 * 1024;

/** A method with one message in and one message out. */
export function unary<I extends DescMessage, O extends DescMessage>(
  deps: RpcDeps,
  method: { path: string; input: I; output: O },
  act: (call: RpcCall, request: MessageShape<I>) => Promise<MessageInitShape<O>>,
): Serve {
  return async (connection, { request, response }) => {
    const grpc = new GrpcStream({ request, response, messageBytesMax }, deps.clock);
    const asked = askedCall(method.path, connection, grpc, request);
    try {
      const answer = await serveCall(deps, asked, async (call) => {
        const message = parseMessage(method.input, await grpc.readMessage());
        if ("jobId" in message) asked.jobId = shownId(message.jobId);
        const reply = create(method.output, await act(call, message));
        if ("jobId" in reply) asked.jobId ??= shownId(reply.jobId);
        const bytes = toBinary(method.output, reply);
        if (bytes.length > messageBytesMax) throw tooLarge(bytes.length);
        return frameMessage(bytes);
      });
      grpc.begin();
      await grpc.write(answer, grpc.signal);
      grpc.end();
    } catch (error) {
      grpc.end(error as ConnectError);
    }
  };
}

/** Refused like any other call: who is calling is checked first, and it leaves a line in the log. */
export function unknownMethod(deps: RpcDeps): Serve {
  return async (connection, { request, response }) => {
    const grpc = new GrpcStream({ request, response, messageBytesMax }, deps.clock);
    // The path is the caller's, and would be one more label of the metrics each time.
    const asked = askedCall("unknown", connection, grpc, request);
    const refused = serveCall(deps, asked, async () => {
      throw new WritError("METHOD_NOT_ALLOWED", "there is no such method; server reflection lists them");
    });
    await refused.catch((error: ConnectError) => grpc.end(error));
  };
}

export function parseMessage<I extends DescMessage>(schema: I, bytes: Uint8Array): MessageShape<I> {
  try {
    return fromBinary(schema, bytes);
  } catch {
    throw new WritError("INVALID_ARGUMENT", `the request is not a ${schema.name}`);
  }
}

function tooLarge(bytes: number): WritError {
  const message = `the answer would have ${bytes} bytes, and may have ${messageBytesMax}; ask for a smaller page`;
  return new WritError("TOO_LARGE", message);
}
