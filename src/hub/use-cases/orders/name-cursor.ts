import { invalidArgument } from "../../../core/errors.ts";

type Named = { tenantId: string; name: string };

/** The place in a list that is ordered by tenant and name; null after nothing. No tenant has a slash in its id. */
export function nameCursor(last: Named | undefined): string | null {
  return last === undefined ? null : `${last.tenantId}/${last.name}`;
}

export function readNameCursor(cursor: string): Named {
  const at = cursor.indexOf("/");
  if (at === -1) throw invalidArgument({ path: "cursor", message: "is not a cursor of this list" });
  return { tenantId: cursor.slice(0, at), name: cursor.slice(at + 1) };
}
