import type { OutputSizes } from "../../../contract/shapes/report-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import { type Change, decideChange } from "../../../core/jobs/change.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";

type Deps = Pick<HubDeps, "store" | "clock" | "settings" | "renewals" | "outputs">;

type ReportedEnd = {
  jobId: string;
  change: Extract<Change, { act: "result" | "fail" }>;
  /** The sizes that the attempt has sent, if the worker reports them. */
  output?: OutputSizes | undefined;
};

/**
 * Refuses the end of an attempt while the hub has less of its output than it had confirmed: a power cut has lost bytes
 * that were not synced yet. The worker still has its copy, sends the rest again and repeats the end.
 */
export async function checkOutput(deps: Deps, end: ReportedEnd): Promise<void> {
  const { jobId, change, output } = end;
  // Most functions write nothing, so nothing has to be checked.
  if (output === undefined || output.stdout + output.stderr === 0) return;
  const { attempt } = change.fence;
  if (attempt !== null && hasAll(await deps.outputs.appended.sizes({ jobId, attempt }), output)) return;

  const rules = rulesNow(deps);
  const stored = await deps.store.getJob({ jobId });
  // The output of an end that is refused, or was accepted before, may have been removed: it is answered as usual.
  if (stored === null || decideChange(stored.job, change, rules).kind !== "moved") return;
  const has = await deps.outputs.appended.sizes({ jobId, attempt: stored.job.attempt });
  if (hasAll(has, output)) return;
  throw new WritError(
    "OUTPUT_INCOMPLETE",
    `the hub has ${has.stdout} of ${output.stdout} bytes of stdout and ${has.stderr} of ${output.stderr} bytes of stderr; send the rest, then repeat this call`,
    { output: has },
  );
}

/** The hub may have more than was reported: the response to the last chunk may not have reached the worker. */
function hasAll(has: OutputSizes, told: OutputSizes): boolean {
  return has.stdout >= told.stdout && has.stderr >= told.stderr;
}
