import { create, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../contract/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../contract/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { file_writ_v1_job_service, JobService } from "../../contract/gen/writ/v1/job_service_pb.js";
import { connectionIn, type RpcDeps } from "./call.ts";
import { userAgentCharsMax } from "./job-service.ts";
import { serveCall } from "./serve-call.ts";

const services: DescService[] = [JobService, ServerReflection, ServerReflectionAlpha];
const files: DescFile[] = [file_writ_v1_job_service, ServerReflection.file, ServerReflectionAlpha.file];

/** A tool asks a handful of questions; endless questions must not hold a call for ever. */
const questionsMax = 1000;

/** Tells tools such as grpcurl what is served here, under both names that they ask for. */
export function addReflection(router: ConnectRouter, deps: RpcDeps): void {
  router.service(ServerReflection, {
    serverReflectionInfo: (questions, context) => answerAll(deps, questions, context),
  });
  // The two versions differ only in their name, so what is made for one is valid for the other.
  router.service(ServerReflectionAlpha, {
    serverReflectionInfo: (questions, context) =>
      answerAll(deps, questions as unknown as AsyncIterable<ServerReflectionRequest>, context) as never,
  });
}

async function* answerAll(
  deps: RpcDeps,
  questions: AsyncIterable<ServerReflectionRequest>,
  context: HandlerContext,
): AsyncGenerator<ServerReflectionResponse> {
  const asked = {
    method: `${context.service.typeName}/${context.method.name}`,
    connection: connectionIn(context.values),
    userAgent: context.requestHeader.get("user-agent")?.slice(0, userAgentCharsMax) ?? null,
    jobId: undefined,
    signal: context.signal,
  };
  let left = questionsMax;
  for await (const question of questions) {
    yield await serveCall(deps, asked, async () => answer(question));
    if (--left === 0) return;
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
