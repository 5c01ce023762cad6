import { WritError } from "../../../core/errors.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { bytesGone, hasBytes } from "./bytes-present.ts";
import type { FileTicket } from "./file-ticket.ts";

export type ReadableObject = {
  file: StoredObject;
  size: number;
  read(start: number, end: number): AsyncGenerator<Buffer>;
};

/** Opens the file of a URL. */
export async function openObject(deps: HubDeps, ticket: FileTicket): Promise<ReadableObject> {
  const { objects } = deps;
  const file = await deps.store.getObject({ id: ticket.id ?? "", nowMs: deps.clock.nowMs() });
  if (file === null || file.state !== "kept") {
    throw new WritError("FILE_REMOVED", `${ticket.folderId}/${ticket.objectKey} no longer exists`);
  }
  const size = file.size ?? 0;
  if (objects.servedBy === "store") return { file, size, read: unread };
  if (!(await hasBytes(deps, file))) throw bytesGone(deps, ticket, size);
  return { file, size, read: (start, end) => objects.read(file, { start, end }) };
}

/** The object store serves the bytes itself, so they are never read here. */
// biome-ignore lint/correctness/useYield: it fails before the first piece
async function* unread(): AsyncGenerator<Buffer> {
  throw new WritError("NOT_FOUND", "this hub's files are in its object store; ask for a new URL");
}
