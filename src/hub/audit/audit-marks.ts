import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { type SigningKey, signText, type VerifyingKey, verifyText } from "../../signing/ed25519.ts";
import type { AuditMark } from "../../store/audit-store.ts";

/**
 * Outside the database, so that a person with access only to the database cannot cut off the tail unnoticed. Why: ADR
 * 0014.
 */
export const marksPath = (home: string): string => join(home, "audit-heads.ndjson");

/**
 * A year of heads would be large, and the newest covers all before it; from time to time the file is reduced to these.
 */
const linesKept = 1_000;
const linesMax = 2 * linesKept;

export function signMark(
  key: SigningKey,
  unsigned: Pick<AuditMark, "audit" | "seq" | "hash" | "ts">,
): AuditMark {
  return { ...unsigned, key_id: key.keyId, signature: signText(key, textOf(unsigned)) };
}

export function isMarkValid(mark: AuditMark, keys: ReadonlyMap<string, VerifyingKey>): boolean {
  const key = keys.get(mark.key_id);
  return key !== undefined && verifyText(key, textOf(mark), mark.signature);
}

/** The field `audit` distinguishes a mark from everything else that the key signs. */
function textOf({ audit, seq, hash, ts }: Pick<AuditMark, "audit" | "seq" | "hash" | "ts">): string {
  return canonicalize({ audit, hash, seq, ts });
}

export function newestMark(marks: readonly AuditMark[], audit: AuditMark["audit"]): AuditMark | null {
  const ofKind = marks.filter((mark) => mark.audit === audit);
  return ofKind.reduce<AuditMark | null>((best, mark) => (mark.seq > (best?.seq ?? 0) ? mark : best), null);
}

/** Appends a line that survives a power cut once this returns. */
export async function appendMark(home: string, mark: AuditMark): Promise<void> {
  const file = await open(marksPath(home), "a", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(mark)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The marks of the chain's start must be kept; of the heads, the newest are enough. */
export async function shortenMarks(home: string): Promise<void> {
  const { marks, torn } = await readMarks(home);
  if (marks.length <= linesMax && torn === 0) return;
  const start = marks.filter(({ audit }) => audit === "start").slice(-1);
  const heads = marks.filter(({ audit }) => audit === "head").slice(-linesKept);
  const lines = [...start, ...heads].map((mark) => `${JSON.stringify(mark)}\n`);
  await writePrivateFile(marksPath(home), lines.join(""));
}

/** Unreadable lines are counted: a crash in the middle of a write leaves one at the end. */
export async function readMarks(home: string): Promise<{ marks: AuditMark[]; torn: number }> {
  const text = await readFile(marksPath(home), "utf8").catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  });
  return parseMarks(text);
}

export function parseMarks(text: string): { marks: AuditMark[]; torn: number } {
  const lines = text.split("\n").filter((line) => line !== "");
  const marks = lines.map(parseMark).filter((mark) => mark !== null);
  return { marks, torn: lines.length - marks.length };
}

function parseMark(line: string): AuditMark | null {
  try {
    const mark = JSON.parse(line) as AuditMark;
    const isWhole = Number.isSafeInteger(mark.seq) && Number.isSafeInteger(mark.ts);
    const texts = [mark.audit, mark.hash, mark.key_id, mark.signature];
    return isWhole && texts.every((text) => typeof text === "string") ? mark : null;
  } catch {
    // Half a line, from a crash in the middle of a write.
    return null;
  }
}
