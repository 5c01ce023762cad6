import type { JobDocument } from "../../../contract/document.ts";
import { documentFacts } from "../../../contract/document-summary.ts";
import type { ClaimedJob } from "../../../store/store.ts";

/**
 * The job as a simple worker reads it. These fields are not signed; the document has the same content under a
 * signature. Why: ADR 0010, ADR 0095.
 */
export function plainFields({ job, document }: Pick<ClaimedJob, "job" | "document">) {
  const written = JSON.parse(document) as JobDocument;
  const { params, solver_url, solver_checksum } = documentFacts(written);
  return {
    params,
    priority: written.priority,
    max_runtime_ms: job.timeoutSec * 1000,
    attempts: job.attempts,
    max_attempts: written.max_attempts,
    created_at: job.createdAt,
    ...(solver_url === null ? {} : { solver_url, solver_checksum }),
  };
}
