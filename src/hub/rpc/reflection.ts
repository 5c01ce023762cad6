import { create, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../contract/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../contract/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { file_writ_v1_job_service, JobService } from "../../contract/gen/writ/v1/job_service_pb.js";
import { frameMessage } from "../../runtime/http/grpc-message.ts";
import type { Connection, RpcDeps } from "./call.ts";
import { GrpcStream } from "./grpc-stream.ts";
import { askedCall, serveCall } from "./serve-call.ts";
import { type Exchange, parseMessage, type Serve } from "./serve-unary.ts";

const services: DescService[] = [JobService, ServerReflection, ServerReflectionAlpha];
const files: DescFile[] = [file_writ_v1_job_service, ServerReflection.file, ServerReflectionAlpha.file];

/** A tool asks a handful of questions; endless questions must not hold a call for ever. */
const questionsMax = 1000;
/** A question is a name. */
const messageBytesMax = 64 * 1024;

/** Tells tools such as grpcurl what is served here, by the path of each of the two names that they ask for. */
export function reflection(deps: RpcDeps): [path: string, serve: Serve][] {
  // The two versions differ only in their name, so what is made for one is valid for the other.
  return [ServerReflection, ServerReflectionAlpha].map(({ typeName, method }) => {
    const path = `/${typeName}/${method.serverReflectionInfo.name}`;
    return [path, (connection, exchange) => answerAll(deps, path, { connection, ...exchange })];
  });
}

async function answerAll(
  deps: RpcDeps,
  path: string,
  { connection, request, response }: Exchange & { connection: Connection | null },
): Promise<void> {
  const grpc = new GrpcStream({ request, response, messageBytesMax }, deps.clock);
  const asked = askedCall(path, connection, grpc, request);
  let left = questionsMax;
  try {
    await serveCall(deps, asked, async ({ signal }) => {
      for await (const bytes of grpc.readMessages()) {
        const question = parseMessage(ServerReflectionRequestSchema, bytes);
        grpc.begin();
        await grpc.write(frameMessage(toBinary(ServerReflectionResponseSchema, answer(question))), signal);
        if (--left === 0) return;
      }
    });
    grpc.end();
  } catch (error) {
    grpc.end(error as ConnectError);
  }
}

function answer(question: ServerReflectionRequest): ServerReflectionResponse {
  return create(ServerReflectionResponseSchema, {
    validHost: question.host,
    originalRequest: question,
    messageResponse: answerTo(question.messageRequest),
  });
}

type Response = ServerReflectionResponse["messageResponse"];

function answerTo(asked: ServerReflectionRequest["messageRequest"]): Response {
  if (asked.case === "listServices") {
    const service = services.map(({ typeName }) => ({ name: typeName }));
    return { case: "listServicesResponse", value: { service } } as Response;
  }
  if (asked.case === "fileByFilename")
    return fileAnswer(files.find((file) => file.proto.name === asked.value));
  if (asked.case === "fileContainingSymbol") {
    return fileAnswer(files.find((file) => symbolsIn(file).has(asked.value)));
  }
  return notFound("there are no extensions here");
}

function fileAnswer(file: DescFile | undefined): Response {
  if (file === undefined) return notFound("there is no such file or symbol here");
  const fileDescriptorProto = [toBinary(FileDescriptorProtoSchema, file.proto)];
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } } as Response;
}

function notFound(errorMessage: string): Response {
  return { case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage } } as Response;
}

function symbolsIn(file: DescFile): Set<string> {
  const methods = file.services.flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `${typeName}.${name}`),
  );
  const types = [...file.messages, ...file.enums, ...file.services].map(({ typeName }) => typeName);
  return new Set([...types, ...methods]);
}
