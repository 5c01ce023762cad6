import { type JobDocument, jobDocument } from "../../contract/document.ts";
import { toPlain } from "../../core/text/json-value.ts";
import { RunFailure } from "../../runners/runner.ts";
import type { VerifiedClaim } from "../../signing/verify-claim.ts";
import { readPlainDocument } from "./plain-document.ts";

type Accepting = {
  location: string;
  capabilities: readonly { provider: string; model: string }[];
};

type SignedDocument = Pick<VerifiedClaim, "document" | "isPlain">;

/**
 * Reads a document whose signature has been checked; one that this worker cannot run is an INVALID_JOB.
 * Why: ADR 0019, ADR 0064.
 */
export function readDocument(claim: SignedDocument, worker: Accepting): JobDocument {
  const document = parseDocument(claim);
  if (document.execution_location !== worker.location) {
    throw notAccepted(
      `the job is for ${document.execution_location}, but this worker is at ${worker.location}`,
    );
  }
  const { provider, model } = document;
  const hasModel = worker.capabilities.some((one) => one.provider === provider && one.model === model);
  if (provider !== undefined && !hasModel) {
    throw new RunFailure(
      "INVALID_JOB",
      "NO_SUCH_MODEL",
      `this worker does not have the model ${provider} ${model}`,
    );
  }
  return document;
}

function parseDocument({ document, isPlain }: SignedDocument): JobDocument {
  const plain = isPlain ? readPlainDocument(document) : null;
  if (plain !== null) return plain;
  const parsed = jobDocument.safeParse(isPlain ? document : toPlain(document));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const isPath = issue?.path[0] === "allowed_paths" || issue?.path[0] === "repo_root";
  if (isPath) throw badPath(`${issue.path.join(".")} ${issue.message}`);
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")} `;
  throw notAccepted(`this worker cannot read the document: ${place}${issue?.message ?? ""}`);
}

const reasonCharsMax = 2000;

function notAccepted(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason.slice(0, reasonCharsMax));
}

/** The hub accepts no such document, so its signer did not act like a hub. */
function badPath(problem: string): RunFailure {
  return new RunFailure("SECURITY_VIOLATION", "PATH_TRAVERSAL_ATTEMPT", problem.slice(0, reasonCharsMax));
}
