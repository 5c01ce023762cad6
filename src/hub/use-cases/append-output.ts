import type { OutputStream } from "../../contract/job-routes.ts";
import { decideChange } from "../../core/change.ts";
import { WritError } from "../../core/errors.ts";
import { outputPath } from "../../output/output-log.ts";
import { type HubDeps, rulesNow } from "../deps.ts";
import { fenceOf } from "./attempt-fence.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { hidden, notFound } from "./find-job.ts";
import { findActingWorker } from "./find-worker.ts";
import { isHidden } from "./tenant-wall.ts";

/** Appends what an attempt has said, if it still holds its lease and goes on exactly where it stopped. */
export async function appendOutput(
  deps: HubDeps,
  call: AttemptCall & { stream: OutputStream; offset: number; bytes: Uint8Array },
): Promise<{ size: number }> {
  await findActingWorker(deps, { identity: call.identity, workerId: call.worker_id });
  const fence = fenceOf(call.identity, call);
  const stored = await deps.store.getJob({ jobId: call.jobId });
  if (stored === null) throw notFound(call.jobId);
  const { job } = stored;
  if (isHidden(call.identity, job)) throw await hidden(deps, call);
  const held = decideChange(job, { act: "renew", fence }, rulesNow(deps));
  if (held.kind === "refused") throw new WritError(held.code, held.message);

  await checkSize(deps, { tenantId: job.tenantId, end: call.offset + call.bytes.length });
  const path = outputPath(deps.outputsDir, call.jobId, job.attempt, call.stream);
  const appended = await deps.outputs.appendAt(path, call.offset, call.bytes);
  deps.metrics.outputBytes.inc(call.bytes.length);
  return appended;
}

async function checkSize(deps: HubDeps, output: { tenantId: string; end: number }): Promise<void> {
  const quota = await deps.quotas.get(output.tenantId);
  const bytesMax = Math.min(deps.settings.maxOutputBytes, quota.max_output_bytes ?? Number.MAX_SAFE_INTEGER);
  if (output.end <= bytesMax) return;
  throw new WritError("TOO_LARGE", `an attempt may write ${bytesMax} bytes to each stream`, {
    bytes_max: bytesMax,
  });
}
