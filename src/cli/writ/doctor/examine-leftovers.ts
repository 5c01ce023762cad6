import { listLeftovers } from "../../../hub/admin.ts";
import type { Finding } from "./doctor.ts";

const shownMax = 10;

/** What commands that were killed have left in the home or beside it, which may be copies of jobs; nothing if there is none. */
export async function examineLeftovers(call: Parameters<typeof listLeftovers>[0]): Promise<Finding[]> {
  const found = await listLeftovers(call);
  if (found.length === 0) return [];
  const more = found.length > shownMax ? ` and ${found.length - shownMax} more` : "";
  const says = `left by a command that was killed: ${found.slice(0, shownMax).join(", ")}${more}; the next start of the hub removes it`;
  return [{ check: "leftovers", state: "warning", says }];
}
