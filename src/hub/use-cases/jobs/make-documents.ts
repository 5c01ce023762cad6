import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import type { NewJob } from "../../../core/jobs/job.ts";
import { CanonicalText } from "../../../core/text/json-value.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import {
  type Author,
  buildDocument,
  type Defaulted,
  idempotencyKeyOf,
  requestText,
  smallDocumentBytes,
} from "./build-document.ts";

type Times = { nowMs: number; defaulted: Defaulted | undefined };
type Making = Times & { newId: () => string };

/**
 * Makes the documents of a call. Jobs that differ from the one before only in their id, key and params get the same text
 * with these put into their places. Why: ADR 0117.
 */
export function makeDocuments(
  submissions: readonly JobSubmission[],
  author: Author,
  making: Making,
): NewJob[] {
  const { newId, ...times } = making;
  let template: Template | null = null;
  return submissions.map((submission, index) => {
    const jobId = submission.job_id ?? newId();
    const before = submissions[index - 1];
    if (!isPlain(submission) || before === undefined || !differsInOwn(submission, before)) {
      template = null;
      return buildDocument(submission, author, { ...times, jobId });
    }
    template ??= templateOf(submission, author, times);
    const { idempotency_key: givenKey } = submission;
    const key = idempotencyKeyOf(givenKey, author.tenantId, jobId);
    const own = { key, givenKey: givenKey ?? "", id: jobId, params: submission.params.text };
    return fill(template, own) ?? buildDocument(submission, author, { ...times, jobId });
  });
}

type Plain = JobSubmission & { params: CanonicalText };

function isPlain(submission: JobSubmission): submission is Plain {
  return submission.params instanceof CanonicalText;
}

/** What each job has for itself. */
const ownFields: ReadonlySet<string> = new Set(["job_id", "idempotency_key", "params"]);

/** Whether two submissions have the same fields, and all but their own have the same simple value. */
function differsInOwn(submission: JobSubmission, other: JobSubmission): boolean {
  if (!(other.params instanceof CanonicalText)) return false;
  let fields = 0;
  for (const name in submission) {
    if (!(name in other)) return false;
    fields++;
    if (ownFields.has(name)) continue;
    const value = submission[name as keyof JobSubmission];
    if (typeof value === "object" || value !== other[name as keyof JobSubmission]) return false;
  }
  return fields === Object.keys(other).length;
}

type Own = { key: string; givenKey: string; id: string; params: string };

/** A text that is the same for all jobs except at some places: a literal is before each place, and after the last. */
type CutText = { literals: string[]; places: (keyof Own)[] };

type Template = { job: NewJob; document: CutText; request: CutText };

/** No other field of a submission can contain one of these. */
const marks = { givenKey: "{key}", id: "{id}", params: '"{params}"' };

function templateOf(submission: Plain, author: Author, making: Times): Template {
  const marked: JobSubmission = { ...submission, params: new CanonicalText(marks.params) };
  if (submission.job_id !== undefined) marked.job_id = marks.id;
  if (submission.idempotency_key !== undefined) marked.idempotency_key = marks.givenKey;
  const job = buildDocument(marked, author, { ...making, jobId: marks.id });
  return {
    job,
    document: cut(job.document, { ...marks, key: job.idempotencyKey }),
    request: cut(requestText(marked), { ...marks, key: job.idempotencyKey }),
  };
}

function cut(text: string, marked: Own): CutText {
  const found = (Object.keys(marked) as (keyof Own)[])
    .map((place) => ({ place, at: text.indexOf(marked[place]) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at);
  let from = 0;
  const literals = found.map(({ place, at }) => {
    const literal = text.slice(from, at);
    from = at + marked[place].length;
    return literal;
  });
  return { literals: [...literals, text.slice(from)], places: found.map(({ place }) => place) };
}

function join({ literals, places }: CutText, own: Own): string {
  let text = literals[0]!;
  for (let index = 0; index < places.length; index++) text += own[places[index]!] + literals[index + 1]!;
  return text;
}

/** Null for a job of which lists keep a summary, or whose params may be too large. */
function fill({ job, document, request }: Template, own: Own): NewJob | null {
  const text = join(document, own);
  if (text.length > smallDocumentBytes) return null;
  return {
    ...job,
    id: own.id,
    document: text,
    documentSha256: sha256Hex(text),
    idempotencyKey: own.key,
    requestHash: job.requestHash === null ? null : sha256Hex(join(request, own)),
  };
}
