import type { AuditMark } from "../../store/audit-store.ts";
import type { HotRow } from "../../store/log/audit-reader.ts";
import { newestMark } from "./audit-marks.ts";
import type { ChainCheck } from "./chain-check.ts";

/** Marks with valid signatures: those in the database, and those in the home. */
export type SignedMarks = { stored: AuditMark[]; kept: AuditMark[] };

/** The hub that leads signs within a minute; a busy one may be late. */
const nextHeadWithinMs = 120_000;

/**
 * Says what the heads of this home do not prove, or null. A head cannot be forged, and proves every record before it.
 * But a person who can write to the database can remove heads there, and then the records after the last remaining head
 * look like records that are not signed yet. Only a head outside the database shows that. Why: ADR 0088.
 */
export function headsElsewhere({ unsignedMs }: ChainCheck, { stored, kept }: SignedMarks): string | null {
  const [inHome, inDatabase] = [lastHead(kept), lastHead(stored)];
  if (kept.length > 0 && inHome >= inDatabase && unsignedMs <= nextHeadWithinMs) return null;
  const why =
    kept.length === 0
      ? "this home has no signed heads: its hub has never led or has just begun to, or audit-heads.ndjson was removed"
      : `the signed heads in this home end at record ${inHome}: another hub has led since then, or the next head is not signed yet`;
  const proven = Math.max(inHome, inDatabase);
  const open = proven === 0 ? "any record" : `records after record ${proven}`;
  return `${why}. Somebody who can write to the database could have removed newer heads from it, and changed, added or removed ${open}. To rule that out, run \`writ audit verify\` in the home of the hub that leads.`;
}

function lastHead(marks: AuditMark[]): number {
  return newestMark(marks, "head")?.seq ?? 0;
}

/**
 * A record whose seal alone is in the table was moved into a file, with all before it. If no file of this home has it,
 * another hub may have moved it while it led, and this says so. If this hub has never led, no more can be known, and
 * the check continues after that record.
 */
export function recordsElsewhere(check: ChainCheck, row: HotRow, { kept }: SignedMarks): string | null {
  const { seq, event, seal } = row;
  if (event !== null || seal === null || seq <= check.lastSeq) return null;
  const missing = `records ${check.lastSeq + 1} to ${seq}`;
  if (kept.length === 0) check.continueAfter(seq, seal.hash);
  return `${missing} are neither in the database nor in this home. A hub that led has moved them into files in its own home, or somebody has removed them. To rule that out, let \`audit\` in every home be a link to one folder with all these files, and run \`writ audit verify\` again.`;
}
