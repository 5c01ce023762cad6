import type { Handlers } from "./handlers.ts";
import type { JobError, Submission } from "./job-table.ts";
import { checkInput } from "./schema.ts";

/** A job to take, or why it is refused. */
type Submitted = { job: Submission } | { refusal: JobError; status: number; jobId: string | null };

/** Reads the body of `POST /job`. */
export async function readSubmission(
  body: string,
  handlers: Handlers,
  isOpen: (id: string) => boolean,
): Promise<Submitted> {
  const fields = parseObject(body);
  if (fields === undefined) return refuse(null, "INVALID_JSON", "the body must be a JSON object");
  const { job_id: jobId, job_class: jobClass } = fields;
  if (typeof jobId !== "string" || jobId === "")
    return refuse(null, "MISSING_JOB_ID", "job_id must be a text that is not empty");
  if (isOpen(jobId)) return refuse(jobId, "DUPLICATE_JOB_ID", `job ${jobId} has not ended yet`, 409);

  const handler =
    typeof jobClass === "string" && Object.hasOwn(handlers, jobClass) ? handlers[jobClass] : undefined;
  if (typeof jobClass !== "string" || handler === undefined) {
    const known = Object.keys(handlers).join(", ");
    return refuse(jobId, "UNKNOWN_JOB_CLASS", `job_class must be one of: ${known}`);
  }
  const input = fields["job_input"] ?? null;
  const checked = typeof handler === "function" ? { value: input } : await checkInput(handler.schema, input);
  if ("problem" in checked) return refuse(jobId, "INVALID_INPUT", checked.problem);
  // Another request with the same id may have come while the schema was at work.
  if (isOpen(jobId)) return refuse(jobId, "DUPLICATE_JOB_ID", `job ${jobId} has not ended yet`, 409);
  const [logOut, logErr, outputDir] = ["job_log_out", "job_log_err", "job_output_dir"].map((name) =>
    typeof fields[name] === "string" ? fields[name] : undefined,
  );
  return { job: { id: jobId, jobClass, input: checked.value, outputDir, logOut, logErr } };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // The caller refuses what is not an object.
    return undefined;
  }
}

function refuse(jobId: string | null, code: string, message: string, status = 400): Submitted {
  return { refusal: { code, message }, status, jobId };
}
