import type { JobDefinition } from "../contract/define-job.ts";
import type { JobDocument } from "../contract/document.ts";
import { jobSubmission } from "../contract/shapes/submit-shapes.ts";
import { defaultTenant } from "../core/identity.ts";
import { toPlain } from "../core/text/json-value.ts";
import { toJson } from "../core/text/to-json.ts";
import { buildDocument } from "../hub/use-cases/jobs/build-document.ts";
import type { HandlerFunction, HandlerJob } from "../runners/handler.ts";
import { checkOptions, type OptionNames } from "../runtime/check-options.ts";
import { parseJson } from "../signing/parse-json.ts";
import { typedHandler } from "../worker/typed-handler.ts";

export type CallOptions = {
  /** Default: a fixed UUID. */
  jobId?: string | undefined;
  /** Which attempt the handler is told that it is (default: 1). */
  attempt?: number | undefined;
  metadata?: Record<string, unknown> | undefined;
  userId?: string | undefined;
  /** Abort it to see what the handler does when its job is cancelled. */
  signal?: AbortSignal | undefined;
};

const callOptions: OptionNames<CallOptions> = {
  jobId: true,
  attempt: true,
  metadata: true,
  userId: true,
  signal: true,
};

export type HandlerCall<Returned> = {
  /** What the handler returned. */
  result: Returned;
  /** The lines that it wrote with `context.log`. */
  logs: string[];
  /** Each call of `context.progress`. */
  progress: { percent: number; detail?: string | undefined }[];
};

const jobIdDefault = "01890a5d-ac96-774b-bcce-b302099a8057";

/**
 * Calls one handler as a worker would, without a hub: with the job that the hub would make of these params, and a context that keeps
 * what the handler reports. An error of the handler is thrown as it is.
 */
export function callHandler(
  type: string,
  handler: HandlerFunction,
  params?: unknown,
  options?: CallOptions,
): Promise<HandlerCall<unknown>>;
export function callHandler<In, Out, Params, Returned>(
  job: JobDefinition<In, Out, Params, Returned>,
  handler: HandlerFunction<Params, NoInfer<Returned>>,
  params: NoInfer<In>,
  options?: CallOptions,
): Promise<HandlerCall<Returned>>;
export async function callHandler(
  job: string | JobDefinition<unknown, unknown>,
  handler: HandlerFunction,
  params?: unknown,
  options: CallOptions = {},
): Promise<HandlerCall<unknown>> {
  checkOptions("callHandler", options, callOptions);
  const type = typeof job === "string" ? job : job.type;
  const call = typeof job === "string" ? handler : typedHandler(job, handler);
  const logs: string[] = [];
  const progress: HandlerCall<unknown>["progress"] = [];
  const result = await call(jobFor(type, params, options), {
    signal: options.signal ?? new AbortController().signal,
    progress: (percent, detail) => void progress.push({ percent, detail }),
    log: (text) => void logs.push(text),
  });
  return { result, logs, progress };
}

/** Through the shape and the document of the hub, so that params arrive as they would there. */
function jobFor(type: string, params: unknown, options: CallOptions): HandlerJob {
  const { jobId = jobIdDefault, attempt = 1, metadata, userId = "test" } = options;
  const submission = jobSubmission.parse(parseJson(toJson({ type, params, metadata })));
  const author = { tenantId: defaultTenant, userId };
  const { document: text } = buildDocument(submission, author, { jobId, nowMs: Date.now() });
  const document = toPlain(parseJson(text)) as JobDocument;
  const { run } = document;
  return {
    id: jobId,
    type,
    params: run.kind === "handler" ? run.params : undefined,
    attempt,
    tenant_id: document.tenant_id,
    user_id: document.user_id,
    metadata: document.metadata,
    document,
  };
}
