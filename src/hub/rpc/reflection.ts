import {
  type serverReflectionRequest,
  type serverReflectionResponse,
  serverReflection as v1,
} from "../../contract/gen/grpc/reflection/v1/reflection.ts";
import { serverReflection as v1alpha } from "../../contract/gen/grpc/reflection/v1alpha/reflection.ts";
import { protoFiles } from "../../contract/gen/proto-files.ts";
import { grpcStatuses } from "../../core/errors.ts";
import { encodeMessage } from "../../runtime/grpc/encode-message.ts";
import { frameMessage } from "../../runtime/grpc/message-frames.ts";
import type { MessageInit, MessageOf } from "../../runtime/grpc/wire-message.ts";
import type { RpcDeps } from "./call.ts";
import { type Serve, serve } from "./serve-call.ts";
import { parseMessage } from "./serve-unary.ts";

/** A tool sends a handful of queries; endless queries must not hold a call for ever. */
const queriesMax = 1000;
/** A query is a name. */
const messageBytesMax = 64 * 1024;

/** Describes the services to tools such as grpcurl, at the paths of both versions of reflection. */
export function reflection(deps: RpcDeps): [path: string, serve: Serve][] {
  // The two versions differ only in their name.
  return [v1, v1alpha].map(({ serverReflectionInfo: { path, input, output } }) => {
    const answerAll = serve(deps, { path, messageBytesMax }, async ({ signal }, grpc) => {
      let left = queriesMax;
      for await (const bytes of grpc.readMessages()) {
        const answered = encodeMessage(output, answer(parseMessage(input, bytes)));
        grpc.begin();
        await grpc.write(frameMessage(answered), signal);
        if (--left === 0) return;
      }
    });
    return [path, answerAll];
  });
}

type Query = MessageOf<typeof serverReflectionRequest>;
type Answer = MessageInit<typeof serverReflectionResponse>;

function answer(query: Query): Answer {
  return { valid_host: query.host, original_request: query, ...answerTo(query) };
}

function answerTo(query: Query): Answer {
  if (query.list_services !== undefined) {
    const service = protoFiles.flatMap(({ services }) => services.map((name) => ({ name })));
    return { list_services_response: { service } };
  }
  const { file_by_filename: name, file_containing_symbol: symbol } = query;
  if (name !== undefined) return fileAnswer(protoFiles.find((file) => file.name === name));
  if (symbol !== undefined) return fileAnswer(protoFiles.find((file) => file.symbols.includes(symbol)));
  return notFound("there are no extensions here");
}

function fileAnswer(file: (typeof protoFiles)[number] | undefined): Answer {
  if (file === undefined) return notFound("there is no such file or symbol here");
  return { file_descriptor_response: { file_descriptor_proto: [Buffer.from(file.base64, "base64")] } };
}

function notFound(error_message: string): Answer {
  return { error_response: { error_code: grpcStatuses.indexOf("NOT_FOUND"), error_message } };
}
