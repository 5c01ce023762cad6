import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import { lastLineBytesMax, lastLineOf } from "../../../core/text/last-line.ts";
import type { HubDeps } from "../../deps.ts";

type Ending = {
  jobId: string;
  change: { fence: { attempt: number | null } };
  smallOutput?: SmallOutput | undefined;
};

/**
 * The last line that a failed attempt wrote to stderr, which tells more than its exit code. It is stored with the
 * failure, because lists show it and must not open a file for each row. A job ends even if its output cannot be read.
 */
export async function readLastLine(
  { outputs, failures }: Pick<HubDeps, "outputs" | "failures">,
  { jobId, change, smallOutput }: Ending,
): Promise<string | null> {
  if (smallOutput !== undefined) return lastLineOf(smallOutput.stderr);
  const { attempt } = change.fence;
  if (attempt === null) return null;
  try {
    const { stderr: end } = await outputs.appended.sizes({ jobId, attempt });
    if (end === 0) return null;
    const range = { start: Math.max(0, end - lastLineBytesMax), end };
    return lastLineOf(
      Buffer.concat(await Array.fromAsync(outputs.read({ jobId, attempt, stream: "stderr" }, range))),
    );
  } catch (error) {
    failures.warn(error, "the last line of a failed attempt could not be read", { job_id: jobId });
    return null;
  }
}
