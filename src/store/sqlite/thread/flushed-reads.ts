import { isColdRead } from "../../acts/cold-acts.ts";
import type { Reads, StoreProxy } from "./store-proxy.ts";
import type { WireAct } from "./wire.ts";

/** These look only at frames, or at tables that are written at once. */
const needNoRows = new Set<WireAct>([
  "getReceiptSignature",
  "readStatistics",
  "listObjectUsage",
  "readSealed",
  "searchAudit",
  "countEvents",
]);

/**
 * A list shows what was answered before it was asked for. So the rows that are not written yet are written first, with the next group:
 * to merge memory into every search and order would be a second way to look for jobs. Why: ADR 0116.
 */
export function flushedReads(writer: StoreProxy, reads: Reads): Reads {
  return {
    async call(act, input) {
      if (needsRows(act, input)) await writer.call("flushIndex", null);
      return reads.call(act, input);
    },
    close: () => reads.close(),
  };
}

function needsRows(act: WireAct, input: unknown): boolean {
  // The log is in the frames; only the frames of one job are found by its row.
  if (act === "readEvents") return (input as { jobId?: string }).jobId !== undefined;
  if (act === "listWorkers") return true;
  return !needNoRows.has(act) && !(act !== "flushIndex" && isColdRead(act));
}
