import { join } from "node:path";
import type { VerifyingKey } from "../../signing/ed25519.ts";
import type { AuditMark } from "../../store/audit-store.ts";
import type { HotRow } from "../../store/log/audit-reader.ts";
import { type AuditRecord, auditHash, auditRecord } from "../../store/log/audit-record.ts";
import type { DatabasePlace } from "../database/database-place.ts";
import { readKnownDatabase } from "../database/known-database.ts";
import { openAuditReader } from "../database/open-database.ts";
import { isMarkValid, newestMark, readMarks } from "./audit-marks.ts";
import { ChainCheck } from "./chain-check.ts";
import { isGone, listColdDays, readColdLines } from "./cold-files.ts";
import { headsElsewhere, recordsElsewhere, type SignedMarks } from "./unchecked-parts.ts";

export type AuditSource = {
  home: string;
  database: DatabasePlace;
  /**
   * The signed heads, if they were read before a copy of the database was made: the home's present heads would cover
   * more.
   */
  kept?: AuditMark[];
  /** Called after each read of the marks, because a running hub may sign with a key that it has just created. */
  readKeys(): ReadonlyMap<string, VerifyingKey>;
  /** Called after every few hundred records; the check continues when it resolves, so that other calls are served. */
  onProgress?(seq: number): Promise<void>;
};

const recordsPerTurn = 200;

/** A fault and its record; `seq` is null if the fault concerns no single record. */
export type AuditFault = { seq: number | null; what: string };

export type AuditVerdict = {
  faults: AuditFault[];
  /** What could not be checked in this home, and where it can be checked; empty for the home of a single hub. */
  unchecked: string[];
  /** There are more faults than the list has. */
  more: boolean;
  records: number;
  first: number;
  last: number;
  /** How many records at the end are not sealed yet; a running hub seals them within a second. */
  unsealed: number;
  signedThrough: number;
};

/**
 * Checks the whole audit trail, files and database, and reports everything that does not fit. What the home knows is
 * read before the database, because a running hub writes in the other order: every record that a head covers is then
 * already there. If it were read afterwards, the head of a record written in between would look like a tail that was
 * cut off. A file may become too old and be removed at any moment, so missing data is looked up once more before it
 * counts as a fault.
 *
 * A file of SQLite has one hub, whose home has every head. Of the hubs of a server, each has in its home what it signed
 * and moved while it led: records that are only in another home are not a fault, and the verdict says that they were
 * not checked. Why: ADR 0014, ADR 0088.
 */
export async function verifyAudit(source: AuditSource): Promise<AuditVerdict> {
  const kept = source.kept ?? (await readMarks(source.home)).marks;
  // A copy of the database may be older than the home's present knowledge.
  const known = source.kept === undefined ? await readKnownDatabase(source.home) : null;
  const reader = await openAuditReader(source.database);
  try {
    const marks = await collectMarks(source, { stored: await reader.marks(), kept });
    const check = new ChainCheck([...marks.stored, ...marks.kept]);
    for (const fault of marks.faults) check.fault(fault.seq, fault.what);
    await checkCold(source, check);
    const unchecked: string[] = [];
    const isOfMany = source.database.kind === "postgres";
    let isFirst = isOfMany;
    for await (const row of reader.rows(0)) {
      const note = isFirst ? recordsElsewhere(check, row, marks) : null;
      if (note !== null) unchecked.push(note);
      isFirst = false;
      if (check.hasGapBefore(row.seq)) await lookAgain(source, check);
      checkHot(check, row);
      if (row.seq % recordsPerTurn === 0) await source.onProgress?.(row.seq);
    }
    check.end({ lastWritten: await reader.lastSeq(), lastKnown: known?.last_seq ?? 0 });
    const heads = isOfMany ? headsElsewhere(check, marks) : null;
    if (heads !== null) unchecked.push(heads);
    return { ...check.verdict(), unchecked };
  } finally {
    await reader.close();
  }
}

async function collectMarks(
  { home, database, readKeys }: AuditSource,
  { stored, kept }: { stored: AuditMark[]; kept: AuditMark[] },
): Promise<SignedMarks & { faults: AuditFault[] }> {
  const faults: AuditFault[] = [];
  const keys = readKeys();
  const isGood = (mark: AuditMark): boolean => {
    const isValid = isMarkValid(mark, keys);
    if (!isValid) faults.push({ seq: mark.seq, what: `the signed ${mark.audit} has no valid signature` });
    return isValid;
  };
  const valid = { stored: stored.filter(isGood), kept: kept.filter(isGood) };
  // A file that is a little behind the database comes from a backup. An empty one was emptied, unless the hub has just
  // created it in its very first start.
  const isEmpty = database.kind === "file" && stored.length > 0 && kept.length === 0;
  if (isEmpty && (await readMarks(home)).marks.length === 0) {
    faults.push({ seq: null, what: "the signed heads are missing in audit-heads.ndjson" });
  }
  return { ...valid, faults };
}

async function checkCold(source: AuditSource, check: ChainCheck): Promise<void> {
  const auditDir = join(source.home, "audit");
  for (const day of await listColdDays(auditDir)) {
    try {
      for await (const line of readColdLines(auditDir, day)) {
        const { hash, ...record } = JSON.parse(line) as AuditRecord & { hash: string };
        if (check.hasGapBefore(record.seq)) await lookAgain(source, check);
        check.record(record, hash, auditHash(record));
        if (record.seq % recordsPerTurn === 0) await source.onProgress?.(record.seq);
      }
    } catch (error) {
      // The next record tells whether it was removed because of its age: the chain has a gap or a new start there.
      if (isGone(error)) continue;
      check.fault(null, `the file audit/${day}.ndjson.gz cannot be read: ${(error as Error).message}`);
    }
  }
}

/**
 * Reads the marks again: before the hub removes old records, it signs the new start of the chain, first in the home.
 */
async function lookAgain({ home, readKeys }: AuditSource, check: ChainCheck): Promise<void> {
  const { marks } = await readMarks(home);
  const keys = readKeys();
  const starts = marks.filter((mark) => mark.audit === "start" && isMarkValid(mark, keys));
  const start = newestMark(starts, "start");
  if (start !== null) check.startAt(start);
}

function checkHot(check: ChainCheck, { seq, event, seal }: HotRow): void {
  // Records that were moved into a file are still in the table for a moment, and the seal of the last one stays.
  if (seq <= check.lastSeq) check.again(seq, seal?.hash ?? null);
  else if (event === null) check.removed(seq, seal!.hash);
  else if (seal === null) check.unsealed(seq);
  else {
    const record = auditRecord(event, { severity: seal.severity, prevHash: check.lastHash });
    check.record(record, seal.hash, auditHash(record));
  }
}
