import type { startJobRequest } from "../../contract/gen/writ/v1/job_service.ts";
import { type StartRequest, startRequest } from "../../contract/shapes/start-shapes.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";

/**
 * Reads a StartJob with the same shape as over HTTP. Protobuf sends no empty values, so an empty one means "not given".
 */
export function startOf({
  command,
  limits,
  egress,
  requires,
  stdin,
  ...rest
}: MessageOf<typeof startJobRequest>): StartRequest {
  const given = withoutEmpty({
    ...rest,
    limits: limits && withoutEmpty(limits),
    egress: egress && { allow: egress.allow, ...withoutEmpty({ inject: egress.inject }) },
    stdin: Buffer.from(stdin).toString("base64"),
  });
  return parseShape(startRequest, {
    command,
    ...given,
    ...(requires && { requires: withoutEmpty(requires) }),
  });
}

function withoutEmpty(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === "" || value === 0;
}
