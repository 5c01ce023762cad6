import { create, createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { protoFiles } from "../../src/contract/gen/proto-files.ts";

const file = protoFiles.map(({ base64 }) =>
  fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64")),
);
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));

/** A message of JobService for the library of buf, which reads and writes without our tables. */
export function schemaOf(name: string): DescMessage {
  return registry.getMessage(`writ.v1.${name}`)!;
}
