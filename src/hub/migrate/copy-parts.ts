import { createHash } from "node:crypto";
import {
  type CopyPart,
  type CopyRow,
  copyParts,
  type DatabaseCopy,
  keyOf,
  type PartProgress,
} from "../../store/database/database-copy.ts";
import { type ContentOf, contentOfRows } from "../../store/sqlite/copy/content-of-rows.ts";
import { refused } from "./side.ts";

/** The progress of a migration. */
export type MigrationProgress = {
  phase: "copy" | "outputs" | "verify" | "answers";
  /** The part that is being copied or compared. */
  part: string;
  /** Rows, or jobs with output, of this phase so far. */
  done: number;
  total: number;
};
export type OnProgress = (progress: MigrationProgress) => void;

type Sides = { source: DatabaseCopy; target: DatabaseCopy };

export async function countRows(copy: DatabaseCopy): Promise<number> {
  let total = 0;
  for (const part of copyParts) total += await copy.countRows(part);
  return total;
}

/**
 * Copies every row that the target does not have yet. A page and the note of its end are written together. Why: ADR
 * 0086.
 */
export async function copyRows(
  { source, target }: Sides,
  total: number,
  onProgress: OnProgress,
): Promise<void> {
  const before = await target.getProgress();
  let done = [...before.values()].reduce((sum, { rows }) => sum + rows, 0);
  for (const part of copyParts) {
    let progress: PartProgress | null = before.get(part.name) ?? null;
    for await (const rows of source.readRows(part, progress?.after ?? null)) {
      progress = { after: keyOf(part, rows.at(-1)!), rows: (progress?.rows ?? 0) + rows.length };
      await target.writeRows(part, rows, progress);
      done += rows.length;
      onProgress({ phase: "copy", part: part.name, done, total });
    }
  }
}

/**
 * Throws at the first part of which the target does not hold exactly the rows of the source, or rows that say the same. Why: ADR 0086,
 * ADR 0121.
 */
export async function compareRows(
  { source, target }: Sides,
  macKey: Buffer,
  { total, onProgress }: { total: number; onProgress: OnProgress },
): Promise<void> {
  const isExact = !source.isFramed && !target.isFramed;
  const contents = async (copy: DatabaseCopy): Promise<ContentOf> =>
    isExact ? (_, row) => row : contentOfRows(macKey, await copy.getNumbers());
  const [ofSource, ofTarget] = [await contents(source), await contents(target)];
  let done = 0;
  for (const part of copyParts) {
    const report = (rows: number) =>
      onProgress({ phase: "verify", part: part.name, done: done + rows, total });
    const expected = await digestOf(source, part, ofSource, (rows) => report(rows / 2));
    const found = await digestOf(target, part, ofTarget, (rows) => report((expected.rows + rows) / 2));
    const counted = await target.countRows(part);
    report(expected.rows);
    done += expected.rows;
    if (expected.hash === found.hash && expected.rows === counted) continue;
    throw refused(
      `the copy is not complete: the source has ${expected.rows} rows of ${part.name}, and the target ${counted}, or their contents differ; empty the target and begin again`,
    );
  }
}

export async function digestOf(
  copy: DatabaseCopy,
  part: CopyPart,
  contentOf: ContentOf,
  onPage: (rows: number) => void,
): Promise<{ hash: string; rows: number }> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const rows of copy.readRows(part, null)) {
    count += rows.length;
    for (const row of rows) hash.update(`${rowText(part, contentOf(part, row))}\n`);
    onPage(count);
  }
  return { hash: hash.digest("hex"), rows: count };
}

function rowText({ columns }: CopyPart, row: CopyRow): string {
  return JSON.stringify(
    columns.map((column) => {
      const value = row[column];
      return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
    }),
  );
}
