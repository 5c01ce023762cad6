import { WritError } from "../../../core/errors.ts";
import type { HubDeps } from "../../deps.ts";
import type { FileTicket } from "./file-ticket.ts";

/** Deletes the URL owner's files under a key. The bytes are removed a little later. */
export async function removeObject(deps: HubDeps, ticket: FileTicket): Promise<void> {
  const { tenantId, folderId, objectKey, userId } = ticket;
  const nowMs = deps.clock.nowMs();
  const { dropped } = await deps.store.dropObjects({ tenantId, folderId, objectKey, userId, nowMs });
  if (dropped === 0) throw new WritError("NOT_FOUND", `there is no file ${folderId}/${objectKey}`);
}
