import { checkValue, type JobDefinition } from "../contract/define-job.ts";
import type { FailureClass } from "../core/jobs/failure.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import { RunFailure } from "../runners/runner.ts";

/**
 * A handler that checks params and result with the schemas of the job's definition. Invalid params would be invalid in
 * the next attempt too, so they fail the job for good; an invalid result fails the attempt. Why: ADR 0037.
 */
export function typedHandler<In, Out, Params, Returned>(
  { params, result }: JobDefinition<In, Out, Params, Returned>,
  handler: HandlerFunction<Params, Returned>,
): HandlerFunction {
  return async (job, context) => {
    const checked = await failAs("INVALID_JOB", () => checkValue(params, job.params, "params"));
    const returned = await handler({ ...job, params: checked }, context);
    await failAs("EXECUTION_ERROR", () => checkValue(result, returned, "result"));
    return returned;
  };
}

/** The schema's message is the reason; its stack trace does not help. */
async function failAs<T>(code: FailureClass, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw new RunFailure(code, undefined, error instanceof Error ? error.message : String(error));
  }
}
