import { join } from "node:path";
import type { VerifyingKey } from "../../signing/ed25519.ts";
import type { HotRow } from "../../store/audit-reader.ts";
import { type AuditRecord, auditHash, auditRecord } from "../../store/audit-record.ts";
import type { AuditMark } from "../../store/audit-store.ts";
import { openAuditReader } from "../../store/sqlite/audit-reader.ts";
import { isMarkValid, newestMark, readMarks } from "./audit-marks.ts";
import { ChainCheck } from "./chain-check.ts";
import { isGone, listColdDays, readColdLines } from "./cold-files.ts";

type AuditSource = {
  home: string;
  databasePath: string;
  /** Read after the marks, each time: a hub that runs may sign with a key that it has only now. */
  readKeys(): ReadonlyMap<string, VerifyingKey>;
};

/** What is wrong, and at which record; a stretch when it cannot be told more exactly. */
export type AuditFault = { seq: number | null; what: string };

export type AuditVerdict = {
  faults: AuditFault[];
  /** More was found than is listed. */
  more: boolean;
  records: number;
  first: number;
  last: number;
  /** At the end, not sealed yet: a running hub seals within a second. */
  unsealed: number;
  signedThrough: number;
};

/**
 * Goes through the whole audit trail, files and database, and names everything that does not fit. The heads are read
 * before the database, because a hub that runs writes in the other order: of what a head covers, every record is
 * there by then. Read after it, the head of a record that came in between would tell of a tail that was cut. A file that
 * has become too old may go at any moment, so whatever is missing is asked for once more before it is called a fault.
 */
export async function verifyAudit(source: AuditSource): Promise<AuditVerdict> {
  const { marks: kept } = await readMarks(source.home);
  const reader = openAuditReader(source.databasePath);
  try {
    const marks = await collectMarks(source, { stored: reader.marks(), kept });
    const check = new ChainCheck(marks.valid);
    for (const fault of marks.faults) check.fault(fault.seq, fault.what);
    await checkCold(source, check);
    for (const row of reader.rows(0)) {
      if (check.hasGapBefore(row.seq)) await lookAgain(source, check);
      checkHot(check, row);
    }
    check.end(reader.lastSeq());
    return check.verdict();
  } finally {
    reader.close();
  }
}

async function collectMarks(
  { home, readKeys }: AuditSource,
  { stored, kept }: { stored: AuditMark[]; kept: AuditMark[] },
): Promise<{ valid: AuditMark[]; faults: AuditFault[] }> {
  const faults: AuditFault[] = [];
  const keys = readKeys();
  const valid = [...stored, ...kept].filter((mark) => {
    const isValid = isMarkValid(mark, keys);
    if (!isValid) faults.push({ seq: mark.seq, what: `the signed ${mark.audit} has no valid signature` });
    return isValid;
  });
  // A file that is a little behind the database is a backup's; one that is empty was emptied, unless the hub has
  // made it only now, in its very first start.
  if (stored.length > 0 && kept.length === 0 && (await readMarks(home)).marks.length === 0) {
    faults.push({ seq: null, what: "the signed heads are missing in audit-heads.ndjson" });
  }
  return { valid, faults };
}

async function checkCold(source: AuditSource, check: ChainCheck): Promise<void> {
  const auditDir = join(source.home, "audit");
  for (const day of await listColdDays(auditDir)) {
    try {
      for await (const line of readColdLines(auditDir, day)) {
        const { hash, ...record } = JSON.parse(line) as AuditRecord & { hash: string };
        if (check.hasGapBefore(record.seq)) await lookAgain(source, check);
        check.record(record, hash, auditHash(record));
      }
    } catch (error) {
      // Whether it was time for it to go, the next record tells: the chain has a gap or a new start there.
      if (isGone(error)) continue;
      check.fault(null, `the file audit/${day}.ndjson.gz cannot be read: ${(error as Error).message}`);
    }
  }
}

/** The hub signs where the chain begins before it removes what lies below, and into the home first. */
async function lookAgain({ home, readKeys }: AuditSource, check: ChainCheck): Promise<void> {
  const { marks } = await readMarks(home);
  const keys = readKeys();
  const starts = marks.filter((mark) => mark.audit === "start" && isMarkValid(mark, keys));
  const start = newestMark(starts, "start");
  if (start !== null) check.startAt(start);
}

function checkHot(check: ChainCheck, { seq, event, seal }: HotRow): void {
  // What was moved into a file is still in the table for a moment, and the seal of the last one stays.
  if (seq <= check.lastSeq) check.again(seq, seal?.hash ?? null);
  else if (event === null) check.removed(seq, seal!.hash);
  else if (seal === null) check.unsealed(seq);
  else {
    const record = auditRecord(event, { severity: seal.severity, prevHash: check.lastHash });
    check.record(record, seal.hash, auditHash(record));
  }
}
