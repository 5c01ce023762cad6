import type { StartJobRequest } from "../../contract/gen/writ/v1/job_service_pb.js";
import { type JobSubmission, jobSubmission } from "../../contract/submit-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { limitNames } from "../../core/limits.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";
import type { Defaulted } from "../use-cases/jobs/build-document.ts";

/** The defaults, which the hub sets and not the client. */
const startDefaults = {
  type: "exec",
  maxAttempts: 1,
  limits: { cpu: "500m", memory: "100M", io: "low", pids: 512, network: "host" },
} as const;

/** A StartJob as a submission, checked by the same shape as one over HTTP, and what of it the client left to the hub. */
export function submissionOf(request: StartJobRequest): { submission: JobSubmission; defaulted: Defaulted } {
  const { limits, requires } = request;
  const given = {
    type: startDefaults.type,
    run: {
      kind: "exec",
      argv: request.command,
      ...(Object.keys(request.env).length > 0 ? { env: request.env } : {}),
      ...(request.cwd === "" ? {} : { cwd: request.cwd }),
    },
    max_attempts: request.maxAttempts || startDefaults.maxAttempts,
    timeout_sec: request.timeoutSec,
    limits: {
      cpu: limits?.cpu || startDefaults.limits.cpu,
      memory: limits?.memory || startDefaults.limits.memory,
      io: limits?.io || startDefaults.limits.io,
      pids: limits?.pids || startDefaults.limits.pids,
      network: limits?.network || startDefaults.limits.network,
    },
    ...(requires === undefined ? {} : { requires: requiresOf(requires) }),
    ...(request.idempotencyKey === "" ? {} : { idempotency_key: request.idempotencyKey }),
  };
  try {
    const submission = parseShape(jobSubmission, given);
    const defaulted = limitNames.filter((name) => !limits?.[name]);
    return { submission, defaulted: { maxAttempts: request.maxAttempts === 0, limits: defaulted } };
  } catch (error) {
    throw error instanceof WritError ? withCallersFieldNames(error) : error;
  }
}

function requiresOf({ tags, session }: { tags: string[]; session: string }) {
  return { ...(tags.length > 0 ? { tags } : {}), ...(session === "" ? {} : { session }) };
}

type Issue = { path: string; message: string };

const fieldNames: readonly (readonly [RegExp, string])[] = [
  [/^run\.argv/, "command"],
  [/^run\.env/, "env"],
  [/^run\.cwd/, "cwd"],
];

/** Names the field as in the caller's message. */
function withCallersFieldNames(error: WritError): WritError {
  const issues = (error.details?.["issues"] as Issue[] | undefined) ?? [];
  const renamed = issues.map(({ path, message }) => ({
    message,
    path: fieldNames.reduce((text, [from, to]) => text.replace(from, to), path),
  }));
  const [first] = renamed;
  if (first === undefined) return error;
  return new WritError(error.code, `${first.path}: ${first.message}`, { issues: renamed });
}
