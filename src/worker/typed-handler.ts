import { checkValue, type JobDefinition } from "../contract/define-job.ts";
import type { HandlerFunction } from "../runners/handler.ts";
import { RunFailure } from "../runners/runner.ts";

/**
 * A handler between the schemas of its job's definition. Params that do not fit would not fit the next time either, so
 * they fail the job for good; a result that does not fit fails the attempt.
 */
export function typedHandler<In, Out, Params, Returned>(
  { params, result }: JobDefinition<In, Out, Params, Returned>,
  handler: HandlerFunction<Params, Returned>,
): HandlerFunction {
  return async (job, context) => {
    const checked = await checkParams(() => checkValue(params, job.params, "params"));
    const returned = await handler({ ...job, params: checked }, context);
    await checkValue(result, returned, "result");
    return returned;
  };
}

async function checkParams<Params>(check: () => Promise<Params>): Promise<Params> {
  try {
    return await check();
  } catch (error) {
    throw new RunFailure("INVALID_JOB", undefined, error instanceof Error ? error.message : String(error));
  }
}
