import type { Answer } from "./call-http.ts";
import type { TestHub } from "./hub.ts";
import type { HeldJob } from "./jobs.ts";

/** Sends one chunk of what a job says, as its worker would. */
export function appendOutput(
  hub: TestHub,
  job: HeldJob,
  { offset = 0, stream = "stdout", bytes }: { offset?: number; stream?: string; bytes: Uint8Array },
): Promise<Answer> {
  return hub.call("POST", `/jobs/${job.id}/output/${stream}?offset=${offset}`, {
    token: hub.admin,
    body: bytes,
    headers: {
      "Content-Type": "application/octet-stream",
      "X-Worker-Id": job.fence.worker_id,
      "X-Job-Attempt": String(job.fence.attempt),
      "X-Lease-Token": job.fence.token,
    },
  });
}
