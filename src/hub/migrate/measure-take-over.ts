import { realpathSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import { type CopyPart, copyParts, type DatabaseCopy, keyOf } from "../../store/database/database-copy.ts";
import { contentOfRows } from "../../store/sqlite/copy/content-of-rows.ts";
import { openRows } from "../../store/sqlite/rows/open-rows.ts";
import { compareAnswers } from "../../store/sqlite/take-over/compare-answers.ts";
import { openPart, partPathOf } from "../../store/sqlite/take-over/part-file.ts";
import { checkHome } from "../backup/check-home.ts";
import { makeCopyFolder, takeOverPrefix } from "../home/copy-folder.ts";
import { digestOf } from "./copy-parts.ts";

type Measured = { home: string; path: string; keysDir: string; macKey: Buffer };

/** What taking over the whole file would take. */
export type TakeOverEstimate = {
  rows: number;
  ms: number;
  /** With what is to spare. */
  neededBytes: number;
};

/** For the log of the new file, and for what others write meanwhile. */
export const spareBytes = 128 * 1024 ** 2;

/** As many as are copied as a sample. The first page of a part is slower than the rest. */
const pagesMax = 3;

/**
 * Takes over the first rows of each part into a file beside the database, with all checks, and says what that is for all rows. A hub may
 * be running; nothing is changed in its database. Why: ADR 0121.
 */
export async function measureTakeOver(call: Measured): Promise<TakeOverEstimate> {
  const rows = realpathSync(call.path);
  const source = openRows(rows);
  const folder = makeCopyFolder(dirname(rows), takeOverPrefix, "an upgrade");
  const sample = join(folder.path, "sample.sqlite");
  try {
    const target = openPart(sample, { state: "a sample", macKey: call.macKey });
    try {
      return await measure(call, { rows, sample }, { source, target });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
    folder.remove();
  }
}

/** What is free for the copy, with what an interrupted upgrade has of it already. */
export async function freeBytesBeside(path: string): Promise<number> {
  const rows = realpathSync(path);
  const { bavail, bsize } = await statfs(dirname(rows));
  return bavail * bsize + sizeOf(partPathOf(rows));
}

type Sides = { source: DatabaseCopy; target: DatabaseCopy };
type Paths = { rows: string; sample: string };

async function measure(call: Measured, { rows, sample }: Paths, sides: Sides): Promise<TakeOverEstimate> {
  const { source, target } = sides;
  const numbers = await source.getNumbers();
  await target.prepare(numbers);
  const contentOf = contentOfRows(call.macKey, numbers);
  const estimate = { rows: 0, ms: 0, neededBytes: spareBytes + sizeOf(sample) };
  const counts = new Map<string, { all: number; sampled: number }>();
  for (const part of copyParts) {
    const all = await source.countRows(part);
    const before = sizeOf(sample);
    const { sampled, rowMs } = await copySome(sides, part);
    counts.set(part.name, { all, sampled });
    if (sampled === 0) continue;
    const startedMs = performance.now();
    await digestOf(target, part, contentOf, () => {});
    const digestMs = (performance.now() - startedMs) / sampled;
    estimate.rows += all;
    estimate.ms += all * (rowMs + 2 * digestMs);
    estimate.neededBytes += (all * (sizeOf(sample) - before)) / sampled;
  }
  await target.writeNumbers(numbers);
  const jobs = counts.get("jobs")!;
  if (jobs.sampled > 0)
    estimate.ms += (jobs.all / jobs.sampled) * (await checksMs(call, { rows, sample }, jobs.sampled));
  return estimate;
}

/** The database and its log: pages of a part may be in either. */
function sizeOf(path: string): number {
  return [path, `${path}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function copySome(
  { source, target }: Sides,
  part: CopyPart,
): Promise<{ sampled: number; rowMs: number }> {
  let sampled = 0;
  let rowMs = Number.POSITIVE_INFINITY;
  let pages = 0;
  let startedMs = performance.now();
  for await (const page of source.readRows(part, null)) {
    sampled += page.length;
    await target.writeRows(part, page, { after: keyOf(part, page.at(-1)!), rows: sampled });
    rowMs = Math.min(rowMs, (performance.now() - startedMs) / page.length);
    if (++pages === pagesMax) break;
    startedMs = performance.now();
  }
  return { sampled, rowMs: sampled === 0 ? 0 : rowMs };
}

/** How long the rest of the checks takes for the jobs of the sample. Their answers differ, because the sample lacks most rows. */
async function checksMs(call: Measured, { rows, sample }: Paths, jobs: number): Promise<number> {
  const { home, keysDir, macKey } = call;
  const startedMs = performance.now();
  let compared = 0;
  for (const _ of compareAnswers({ rows, frames: sample, macKey })) if (++compared >= jobs) break;
  const betweenMs = performance.now();
  await checkHome(
    { home, database: { kind: "file", path: sample }, readKeys: () => readVerifyingKeys(keysDir) },
    macKey,
  );
  return betweenMs - startedMs + 2 * (performance.now() - betweenMs);
}
