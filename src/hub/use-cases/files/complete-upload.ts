import type { PutUpload } from "../../../objects/objects.ts";
import type { HubDeps } from "../../deps.ts";
import type { FileTicket } from "./file-ticket.ts";
import { finishUpload } from "./finish-upload.ts";
import { openUpload } from "./open-upload.ts";
import { tidyEnded } from "./publish-upload.ts";

/** Completes an upload whose sender has put everything. A repeated call, after a lost answer, gets the same answer. */
export async function completeUpload(
  deps: HubDeps,
  ticket: FileTicket,
  parts: PutUpload["parts"],
): Promise<{ size: number; sha256: string | null }> {
  const known = await deps.store.getObject({ id: ticket.id ?? "", nowMs: deps.clock.nowMs() });
  if (known === null || known.state === "arriving")
    return finishUpload(deps, await openUpload(deps, ticket), parts);
  // Bytes that were put again before the repeated call are not needed.
  await tidyEnded(deps, known);
  return { size: known.size ?? 0, sha256: known.sha256 };
}
