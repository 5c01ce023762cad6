// Made from grpc/reflection/v1/reflection.proto by `npm run generate`; do not edit.

export const extensionRequest = {
  containing_type: { number: 1, kind: "string" },
  extension_number: { number: 2, kind: "int32" },
} as const;

export const serverReflectionRequest = {
  host: { number: 1, kind: "string" },
  file_by_filename: { number: 3, kind: "string", count: "optional" },
  file_containing_symbol: { number: 4, kind: "string", count: "optional" },
  file_containing_extension: { number: 5, kind: "message", of: extensionRequest, count: "optional" },
  all_extension_numbers_of_type: { number: 6, kind: "string", count: "optional" },
  list_services: { number: 7, kind: "string", count: "optional" },
} as const;

export const fileDescriptorResponse = {
  file_descriptor_proto: { number: 1, kind: "bytes", count: "repeated" },
} as const;

export const extensionNumberResponse = {
  base_type_name: { number: 1, kind: "string" },
  extension_number: { number: 2, kind: "int32", count: "repeated" },
} as const;

export const serviceResponse = {
  name: { number: 1, kind: "string" },
} as const;

export const listServiceResponse = {
  service: { number: 1, kind: "message", of: serviceResponse, count: "repeated" },
} as const;

export const errorResponse = {
  error_code: { number: 1, kind: "int32" },
  error_message: { number: 2, kind: "string" },
} as const;

export const serverReflectionResponse = {
  valid_host: { number: 1, kind: "string" },
  original_request: { number: 2, kind: "message", of: serverReflectionRequest },
  file_descriptor_response: { number: 4, kind: "message", of: fileDescriptorResponse, count: "optional" },
  all_extension_numbers_response: { number: 5, kind: "message", of: extensionNumberResponse, count: "optional" },
  list_services_response: { number: 6, kind: "message", of: listServiceResponse, count: "optional" },
  error_response: { number: 7, kind: "message", of: errorResponse, count: "optional" },
} as const;

export const serverReflection = {
  serverReflectionInfo: { path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", input: serverReflectionRequest, output: serverReflectionResponse },
} as const;
