import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { credentials, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import { rpcHubForAll } from "./rpc-hub.ts";

const hub = rpcHubForAll();

type Answer = {
  list_services_response?: { service: { name: string }[] };
  file_descriptor_response?: { file_descriptor_proto: Buffer[] };
  error_response?: { error_code: number };
};
type Call = AsyncIterable<Answer> & { write(message: object): void; end(): void };

/** All questions on one stream, as tools ask them. */
async function ask(version: "v1" | "v1alpha", questions: object[]): Promise<Answer[]> {
  const file = `${import.meta.dirname}/../../proto/grpc/reflection/${version}/reflection.proto`;
  const loaded = loadPackageDefinition(loadSync(file, { keepCase: true })) as never as {
    grpc: {
      reflection: Record<string, { ServerReflection: new (address: string, creds: unknown) => Client }>;
    };
  };
  const creds = credentials.createSsl(
    Buffer.from(hub.ca),
    Buffer.from(hub.root.key),
    Buffer.from(hub.root.cert),
  );
  const client = new loaded.grpc.reflection[version]!.ServerReflection(`localhost:${hub.grpcPort}`, creds);
  const call = client.ServerReflectionInfo(new Metadata());
  for (const question of questions) call.write(question);
  call.end();
  const answers = await Array.fromAsync(call);
  client.close();
  return answers;
}

type Client = { ServerReflectionInfo(metadata: Metadata): Call; close(): void };

test.each(["v1", "v1alpha"] as const)("%s lists the services and describes them", async (version) => {
  const [list, bySymbol, byMethod, byFile, unknown, extension] = await ask(version, [
    { list_services: "*" },
    { file_containing_symbol: "writ.v1.JobService" },
    { file_containing_symbol: "writ.v1.JobService.StreamOutput" },
    { file_by_filename: "writ/v1/job_service.proto" },
    { file_containing_symbol: "writ.v1.Nothing" },
    { all_extension_numbers_of_type: "writ.v1.JobStatus" },
  ]);
  const names = list!.list_services_response!.service.map(({ name }) => name);
  expect(names.toSorted()).toEqual([
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "writ.v1.JobService",
  ]);
  for (const answer of [bySymbol, byMethod, byFile]) {
    const [bytes] = answer!.file_descriptor_response!.file_descriptor_proto;
    const file = fromBinary(FileDescriptorProtoSchema, bytes!);
    expect(file.name).toBe("writ/v1/job_service.proto");
    expect(file.service[0]!.method.map(({ name }) => name)).toEqual([
      "StartJob",
      "StopJob",
      "GetStatus",
      "StreamOutput",
      "ListJobs",
      "ExchangeCertificate",
    ]);
  }
  expect(unknown!.error_response).toMatchObject({ error_code: 5 });
  expect(extension!.error_response).toMatchObject({ error_code: 5 });
});
