import { randomBytes, randomFillSync } from "node:crypto";
import { type Ids, orderedUuids } from "../core/ids.ts";

const poolBytes = 4096;

/** Ids from the system's random numbers, drawn in larger pieces because each system call costs time. */
export function systemIds(): Ids {
  const pool = Buffer.alloc(poolBytes);
  let used = poolBytes;
  const take = (count: number): Buffer => {
    if (used + count > poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  };
  return {
    jobId: orderedUuids(() => take(16)),
    secret: () => randomBytes(32).toString("base64url"),
    // People pass token ids to commands, which take a word that begins with - for an option.
    recordId: () => take(9).toString("base64url").replace(/^-/, "A"),
  };
}
