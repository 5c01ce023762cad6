import { WritError } from "../../../core/errors.ts";
import type { OutputStream } from "../../../core/jobs/output-stream.ts";
import { outputTooLargeText } from "../../../core/jobs/small-output.ts";
import type { HubDeps } from "../../deps.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { findHeldJob } from "./find-held-job.ts";

/** Appends output of an attempt, if it still holds its lease and continues exactly at the end. */
export async function appendOutput(
  deps: HubDeps,
  call: AttemptCall & { stream: OutputStream; offset: number; bytes: Uint8Array },
): Promise<{ size: number }> {
  const { job } = await findHeldJob(deps, call);
  await checkSize(deps, job.tenantId, call.offset + call.bytes.length);
  const output = { jobId: call.jobId, attempt: job.attempt, stream: call.stream };
  const appended = await deps.outputs.appended.append(output, { offset: call.offset, bytes: call.bytes });
  deps.outputTally.set(output, appended.size);
  deps.metrics.outputBytes.inc(call.bytes.length);
  return appended;
}

async function checkSize(deps: HubDeps, tenantId: string, bytes: number): Promise<void> {
  const quota = await deps.quotas.get(tenantId);
  const bytesMax = Math.min(deps.settings.maxOutputBytes, quota.max_output_bytes ?? Number.MAX_SAFE_INTEGER);
  if (bytes > bytesMax) throw outputTooLarge(bytesMax);
}

export function outputTooLarge(bytesMax: number): WritError {
  return new WritError("TOO_LARGE", outputTooLargeText(bytesMax), { bytes_max: bytesMax });
}
