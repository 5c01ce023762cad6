import { WritError } from "../../../core/errors.ts";
import type { OutputStream } from "../../../core/output-stream.ts";
import type { HubDeps } from "../../deps.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { findHeldJob } from "./find-held-job.ts";

/** Appends output of an attempt, if it still holds its lease and continues exactly at the end. */
export async function appendOutput(
  deps: HubDeps,
  call: AttemptCall & { stream: OutputStream; offset: number; bytes: Uint8Array },
): Promise<{ size: number }> {
  const { job } = await findHeldJob(deps, call);
  await checkSize(deps, { tenantId: job.tenantId, end: call.offset + call.bytes.length });
  const output = { jobId: call.jobId, attempt: job.attempt, stream: call.stream };
  const appended = await deps.outputs.append(output, { offset: call.offset, bytes: call.bytes });
  deps.outputTally.set(output, appended.size);
  deps.metrics.outputBytes.inc(call.bytes.length);
  return appended;
}

async function checkSize(deps: HubDeps, output: { tenantId: string; end: number }): Promise<void> {
  const quota = await deps.quotas.get(output.tenantId);
  const bytesMax = Math.min(deps.settings.maxOutputBytes, quota.max_output_bytes ?? Number.MAX_SAFE_INTEGER);
  if (output.end <= bytesMax) return;
  throw new WritError("TOO_LARGE", `an attempt may write at most ${bytesMax} bytes to each stream`, {
    bytes_max: bytesMax,
  });
}
