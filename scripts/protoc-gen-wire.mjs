// A plugin of buf: writes the messages of each proto file as plain tables, and the files themselves for server reflection.
// `npm run generate` runs it, by buf.gen.yaml. Why: ADR 0115.
import { readFileSync, writeFileSync } from "node:fs";
import { create, createFileRegistry, fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

const proto3Optional = 1n;

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0));
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }));
const files = request.fileToGenerate.map((name) => registry.getFile(name));
const response = create(CodeGeneratorResponseSchema, {
  supportedFeatures: proto3Optional,
  file: [
    ...files.map((file) => ({ name: `${file.name}.ts`, content: tablesOf(file) })),
    { name: "proto-files.ts", content: protoFiles(files) },
  ],
});
writeFileSync(1, toBinary(CodeGeneratorResponseSchema, response));

function tablesOf(file) {
  const enums = file.enums.map(({ name, values }) =>
    constant(name, Object.fromEntries(values.map((value) => [value.name, quote(value.number)]))),
  );
  const messages = inOrder(file.messages).map(({ name, fields }) =>
    constant(name, Object.fromEntries(fields.map((field) => [field.name, fieldText(field)]))),
  );
  const services = file.services.map(({ name, methods }) =>
    constant(name, Object.fromEntries(methods.map((method) => [method.localName, methodText(method)]))),
  );
  return [head(`${file.name}.proto`), ...enums, ...messages, ...services].join("\n");
}

/** A message after those that it contains. */
function inOrder(messages, ordered = new Set()) {
  for (const message of messages) {
    inOrder(
      message.fields.flatMap((field) => field.message ?? []),
      ordered,
    );
    ordered.add(message);
  }
  return [...ordered];
}

function fieldText(field) {
  const parts = [`number: ${field.number}`, ...kindOf(field)];
  // A field of a oneof is sent even if it is empty, like one that is marked as optional.
  if (field.fieldKind === "list") parts.push(`count: "repeated"`);
  else if (field.proto.proto3Optional || field.oneof !== undefined) parts.push(`count: "optional"`);
  return `{ ${parts.join(", ")} }`;
}

function kindOf(field) {
  if (field.fieldKind === "map") {
    if (field.mapKey !== ScalarType.STRING || field.scalar !== ScalarType.STRING) unknown(field);
    return [`kind: "map"`];
  }
  if (field.message !== undefined) return [`kind: "message"`, `of: ${localName(field.message.name)}`];
  if (field.enum !== undefined) return [`kind: "enum"`, `of: ${localName(field.enum.name)}`];
  const kind = ScalarType[field.scalar].toLowerCase();
  const known = ["string", "bytes", "bool", "int32", "uint32", "int64", "uint64", "double"];
  return known.includes(kind) ? [`kind: ${quote(kind)}`] : unknown(field);
}

function unknown(field) {
  throw new Error(`${field}: src/runtime/grpc/wire-message.ts does not know such fields`);
}

function methodText({ parent, name, input, output }) {
  const path = quote(`/${parent.typeName}/${name}`);
  return `{ path: ${path}, input: ${localName(input.name)}, output: ${localName(output.name)} }`;
}

/** The answers of reflection: each file, its services, and the names in it. */
function protoFiles(files) {
  const rows = files.map((file) => {
    const { sourceCodeInfo: _, ...proto } = file.proto;
    const bytes = toBinary(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, proto));
    const methods = file.services.flatMap((service) =>
      service.methods.map(({ name }) => `${service.typeName}.${name}`),
    );
    const types = [...file.messages, ...file.enums, ...file.services].map(({ typeName }) => typeName);
    return {
      name: file.proto.name,
      services: file.services.map(({ typeName }) => typeName),
      symbols: [...types, ...methods],
      base64: Buffer.from(bytes).toString("base64"),
    };
  });
  return `${head("proto/")}\nexport const protoFiles = ${JSON.stringify(rows, null, 2)};\n`;
}

function constant(name, fields) {
  const lines = Object.entries(fields).map(([key, text]) => `  ${key}: ${text},\n`);
  return `export const ${localName(name)} = {\n${lines.join("")}} as const;\n`;
}

function head(from) {
  return `// Made from ${from} by \`npm run generate\`; do not edit.\n`;
}

function localName(name) {
  return name[0].toLowerCase() + name.slice(1);
}

function quote(value) {
  return JSON.stringify(value);
}
