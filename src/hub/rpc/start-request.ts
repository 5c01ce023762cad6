import type { StartJobRequest } from "../../contract/gen/writ/v1/job_service_pb.js";
import { type StartRequest, startRequest } from "../../contract/shapes/start-shapes.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";

/** A StartJob, checked by the same shape as one over HTTP. Protobuf sends no empty values: they mean "not given". */
export function startOf(request: StartJobRequest): StartRequest {
  const { command, limits, requires } = request;
  const given = withoutEmpty({
    limits: limits && withoutEmpty(fieldsOf(limits)),
    env: request.env,
    cwd: request.cwd,
    stdin: Buffer.from(request.stdin).toString("base64"),
    timeout_sec: request.timeoutSec,
    idempotency_key: request.idempotencyKey,
    max_attempts: request.maxAttempts,
  });
  return parseShape(startRequest, { command, ...given, ...(requires && { requires: requiresOf(requires) }) });
}

function requiresOf({ tags, session }: NonNullable<StartJobRequest["requires"]>) {
  return withoutEmpty({ tags, session });
}

function fieldsOf({ cpu, memory, io, pids, network }: NonNullable<StartJobRequest["limits"]>) {
  return { cpu, memory, io, pids, network };
}

function withoutEmpty(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === "" || value === 0;
}
