import { checkValue, type JobDefinition } from "../contract/define-job.ts";
import type { FailureClass } from "../core/jobs/failure.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import { RunFailure } from "../runners/runner.ts";

/**
 * A handler between the schemas of its job's definition. Params that do not fit would not fit the next time either, so
 * they fail the job for good; a result that does not fit fails the attempt. Why: ADR 0037.
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

/** What the schema says is the reason; where in the schema it was found out helps nobody. */
async function failAs<T>(code: FailureClass, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw new RunFailure(code, undefined, error instanceof Error ? error.message : String(error));
  }
}
