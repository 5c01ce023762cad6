import { WritError } from "../../../core/errors.ts";
import { decideChange } from "../../../core/jobs/change.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import type { FileTicket } from "./file-ticket.ts";
import { uploadGone } from "./upload-ended.ts";

/** The upload of a URL, complete or not, if it still exists. An upload of a job ends with its attempt. */
export async function openUpload(deps: HubDeps, ticket: FileTicket): Promise<StoredObject> {
  await checkAttempt(deps, ticket);
  const upload = await deps.store.getObject({ id: ticket.id ?? "", nowMs: deps.clock.nowMs() });
  if (upload === null) throw uploadGone();
  return upload;
}

async function checkAttempt(deps: HubDeps, { jobId, attempt }: FileTicket): Promise<void> {
  if (jobId === null || attempt === null) return;
  const rules = rulesNow(deps);
  const stored = await deps.store.getJob({ jobId });
  const fence = { workerId: stored?.job.workerId ?? "", attempt, tokenHash: null };
  const held = stored !== null && decideChange(stored.job, { act: "renew", fence }, rules).kind !== "refused";
  if (!held) {
    throw new WritError(
      "LEASE_LOST",
      "the attempt that was given this URL has ended; nothing more is stored for it",
    );
  }
}
