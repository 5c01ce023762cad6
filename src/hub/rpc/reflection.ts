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

/** A tool asks a handful of questions; endless questions must not hold a call for ever. */
const questionsMax = 1000;
/** A question is a name. */
const messageBytesMax = 64 * 1024;

/** Tells tools such as grpcurl what is served here, by the path of each of the two names that they ask for. */
export function reflection(deps: RpcDeps): [path: string, serve: Serve][] {
  // The two versions differ only in their name.
  return [v1, v1alpha].map(({ serverReflectionInfo: { path, input, output } }) => {
    const answerAll = serve(deps, { path, messageBytesMax }, async ({ signal }, grpc) => {
      let left = questionsMax;
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

type Question = MessageOf<typeof serverReflectionRequest>;
type Answer = MessageInit<typeof serverReflectionResponse>;

function answer(question: Question): Answer {
  return { valid_host: question.host, original_request: question, ...answerTo(question) };
}

function answerTo(question: Question): Answer {
  if (question.list_services !== undefined) {
    const service = protoFiles.flatMap(({ services }) => services.map((name) => ({ name })));
    return { list_services_response: { service } };
  }
  const { file_by_filename: name, file_containing_symbol: symbol } = question;
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
