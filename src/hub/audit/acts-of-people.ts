import { workerRoutes } from "../../contract/routes/worker-routes.ts";
import type { EventKind } from "../../core/events.ts";
import type { SealedRecord } from "../../store/log/audit-record.ts";

/**
 * Events of acts by people. Submitting is left out, because mostly programs do it. Of the last two kinds only some are
 * by people: see `isByPerson`.
 */
export const kindsOfPeople: EventKind[] = [
  "JOBS_CHANGED",
  "JOB_CANCEL_REQUESTED",
  "JOB_HELD",
  "JOB_RESUMED",
  "LOGIN_SUCCESS",
  "LOGIN_FAILED",
  "TOKEN_ISSUED",
  "TOKEN_REVOKED",
  "CERT_ISSUED",
  "CERT_REVOKED",
  "WORKER_TOKEN_ISSUED",
  "WORKER_DEREGISTERED",
  "WORKER_BLOCKED",
  "WORKER_UNBLOCKED",
  "WORKER_DRAINED",
  "WORKER_UNDRAINED",
  "HUB_RESTORED",
  "KEY_ROTATED",
  "KEY_REVOKED",
  "LOCKDOWN",
  "TENANT_LOCKED",
  "LOCKDOWN_LIFTED",
  "QUEUE_PAUSED",
  "QUEUE_RESUMED",
  "QUOTA_CHANGED",
  "PERMISSION_DENIED",
  "PATH_TRAVERSAL_ATTEMPT",
  "KEY_REJECTED",
  "JOB_RETRYING",
  "JOB_FAILED",
];

const workerPaths: ReadonlySet<string> = new Set(Object.values(workerRoutes).map(({ path }) => path));

/** Whether a record of these kinds is an act of a person, and not of the hub or a worker or a part of a bulk act. */
export function isByPerson({ event, user_id, details, context: { endpoint } }: SealedRecord): boolean {
  if (event === "JOBS_CHANGED" || event === "LOGIN_FAILED") return true;
  if (user_id === null || endpoint === "/jobs/bulk") return false;
  if (endpoint !== null && workerPaths.has(endpoint)) return false;
  // A worker removes itself with the same call as a person, and any call of a worker can be refused.
  if (details["by"] === "worker") return false;
  if (event === "PERMISSION_DENIED" || event === "PATH_TRAVERSAL_ATTEMPT")
    return details["role"] !== "worker";
  if (event === "JOB_RETRYING") return details["by"] === "person";
  return event !== "JOB_FAILED" || details["fail_code"] === "CANCELLED";
}
