import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { JobService, State, Stream } from "./gen/writ/v1/job_service_pb.js";
import { jobMethods, type WireField, type WireMessage, wireStates, wireStreams } from "./job-wire.ts";

/** The table that the proto file asks for. */
function tableOf({ fields }: DescMessage): WireMessage {
  return Object.fromEntries(fields.map((field) => [field.localName, fieldOf(field)]));
}

function fieldOf(field: DescField): WireField {
  const { number } = field;
  if (field.fieldKind === "map") return { number, kind: "map" };
  if (field.fieldKind === "list") return { number, kind: kindOf(field), count: "repeated" };
  const isOptional = field.proto.proto3Optional;
  return { number, kind: kindOf(field), ...(isOptional ? { count: "optional" } : {}) };
}

function kindOf(field: DescField & { fieldKind: "list" | "scalar" | "enum" | "message" }): WireField["kind"] {
  if (field.message !== undefined) return tableOf(field.message);
  if (field.enum !== undefined) return "int32";
  return ScalarType[field.scalar!].toLowerCase() as WireField["kind"];
}

test("the tables hold every method and field of the proto file, in the order of their numbers", () => {
  const wanted = JobService.methods.map(({ localName, name, parent, input, output }) => [
    localName,
    { path: `/${parent.typeName}/${name}`, input: tableOf(input), output: tableOf(output) },
  ]);
  expect(Object.fromEntries(wanted)).toEqual(jobMethods);
  for (const { input, output } of Object.values(jobMethods)) {
    for (const table of [input, output]) {
      const numbers = Object.values(table as WireMessage).map(({ number }) => number);
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    }
  }
});

test("states and streams have the numbers of the proto file", () => {
  const numbersOf = (names: object, of: Record<string, unknown>) =>
    Object.fromEntries(Object.keys(names).map((name) => [name, of[name.toUpperCase()]]));
  expect(wireStates).toEqual(numbersOf(wireStates, State));
  expect(wireStreams).toEqual(numbersOf(wireStreams, Stream));
  expect(Object.keys(wireStates)).toHaveLength(Object.keys(State).length / 2);
  expect(Object.keys(wireStreams)).toHaveLength(Object.keys(Stream).length / 2);
});
