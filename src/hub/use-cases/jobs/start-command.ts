import type { StartRequest } from "../../../contract/shapes/start-shapes.ts";
import { type JobSubmission, jobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { limitNames } from "../../../core/limits.ts";
import type { SubmittedJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { parseShape } from "../access/parse-shape.ts";
import { submitJobs } from "./submit-jobs.ts";

/** The defaults, which the hub sets so that clients need not. */
const startDefaults = {
  type: "exec",
  maxAttempts: 1,
  timeoutSec: 0,
  limits: { cpu: "500m", memory: "100M", io: "low", pids: 512, network: "host" },
} as const;

/** Starts a command as a job. Why: ADR 0036. */
export async function startCommand(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; start: StartRequest },
): Promise<SubmittedJob> {
  const { identity, origin, start } = call;
  const limits = limitNames.filter((name) => start.limits?.[name] === undefined);
  const defaulted = { maxAttempts: start.max_attempts === undefined, limits };
  const [job] = await submitJobs(deps, { identity, origin, submissions: [submissionOf(start)], defaulted });
  return job!;
}

/** Leaves out fields that were not given, because the comparison for an idempotency key covers all fields. */
function submissionOf(start: StartRequest): JobSubmission {
  const { command, env, cwd, stdin, stdin_from, inputs, collect, limits } = start;
  const { egress, output_location, requires, idempotency_key, traceparent } = start;
  return parseShape(jobSubmission, {
    type: startDefaults.type,
    run: { kind: "exec", argv: command, ...given({ env, cwd, stdin, stdin_from, inputs, collect }) },
    max_attempts: start.max_attempts ?? startDefaults.maxAttempts,
    timeout_sec: start.timeout_sec ?? startDefaults.timeoutSec,
    limits: { ...startDefaults.limits, ...limits },
    ...given({ egress, output_location, requires, idempotency_key, traceparent }),
  });
}

function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
