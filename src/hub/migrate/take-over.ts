import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { WritError } from "../../core/errors.ts";
import { formatBytes } from "../../core/text/format-bytes.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import type { DatabaseCopy } from "../../store/database/database-copy.ts";
import { knownId } from "../../store/sqlite/copy/copied-jobs.ts";
import { Connection } from "../../store/sqlite/database/connection.ts";
import { openRows } from "../../store/sqlite/rows/open-rows.ts";
import { compareAnswers } from "../../store/sqlite/take-over/compare-answers.ts";
import { type FrozenFile, freezeFile } from "../../store/sqlite/take-over/frozen-file.ts";
import { openPart, partPathOf, putInPlace } from "../../store/sqlite/take-over/part-file.ts";
import { checkHome, type HomeFindings } from "../backup/check-home.ts";
import { isForLackOfRoom } from "../home/copy-folder.ts";
import { compareRows, copyRows, countRows, type OnProgress } from "./copy-parts.ts";
import { freeBytesBeside, measureTakeOver, spareBytes, type TakeOverEstimate } from "./measure-take-over.ts";

export type TakeOverCall = {
  home: string;
  /** The file of rows. */
  path: string;
  keysDir: string;
  macKey: Buffer;
  /** Is called between two steps. What it throws ends the take-over, which the next call continues. */
  onProgress: OnProgress;
  /** Whether an earlier call was killed while it took the sample. This one does without, so that it gets further. */
  wasSampleKilled?: boolean;
  /** Is called before the sample, which takes seconds. */
  onSample?(): void;
  /** Is told what is to be expected, before the first row is copied. */
  onBegin(estimate: Expected): void;
};

export type TakenOver = {
  rows: number;
  jobs: number;
  /** Records of the audit trail that were checked, and jobs whose seals were. */
  records: number;
  /** The first jobs that were damaged before, and still are. */
  damaged: string[];
};

/** Without a sample it is not known how long it takes. */
type Expected = Omit<TakeOverEstimate, "ms"> & { ms: number | null };

type Files = { rows: string; part: string };

/**
 * Turns a file that keeps jobs in rows into one that keeps them in frames. The new file is filled and verified beside the old one, which
 * stays as it is and usable until a single rename puts the new one in its place. Whatever is interrupted continues at the next
 * call, or begins again if somebody has used the old file since. Why: ADR 0121.
 */
export async function takeOver(call: TakeOverCall): Promise<TakenOver> {
  const rows = realpathSync(call.path);
  const files = { rows, part: partPathOf(rows) };
  const frozen = freezeFile(rows);
  try {
    const found = await fillAndVerify(call, files, frozen);
    putInPlace(files.part, rows);
    return found;
  } catch (error) {
    throw (await isForLackOfRoom(error, dirname(rows))) ? noRoomLeft(files) : error;
  } finally {
    frozen.release();
  }
}

async function fillAndVerify(call: TakeOverCall, files: Files, { state }: FrozenFile): Promise<TakenOver> {
  const { macKey, onProgress } = call;
  const source = openRows(files.rows);
  try {
    const total = await countRows(source);
    if (!existsSync(files.part)) await begin(files, call, total);
    const target = openPart(files.part, { state, macKey });
    try {
      const identity = await source.getIdentity();
      if (identity === null) throw new Error(`no hub has used ${files.rows}`);
      if ((await target.getIdentity()) === null) await fill({ source, target }, total, onProgress);
      await compareRows({ source, target }, macKey, { total, onProgress });
      const found = await compare(call, files);
      if ((await target.getIdentity()) === null) await target.finish(identity);
      return { ...found, rows: total };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function fill(
  { source, target }: { source: DatabaseCopy; target: DatabaseCopy },
  total: number,
  onProgress: OnProgress,
): Promise<void> {
  const numbers = await source.getNumbers();
  await target.prepare(numbers);
  await copyRows({ source, target }, total, onProgress);
  await target.writeNumbers(numbers);
}

/** What callers are told by both, and what a restore checks. */
async function compare(call: TakeOverCall, { rows, part }: Files): Promise<Omit<TakenOver, "rows">> {
  const { home, keysDir, macKey, onProgress } = call;
  const total = countJobs(rows);
  let jobs = 0;
  for (const difference of compareAnswers({ rows, frames: part, macKey })) {
    if (difference !== null) throw different(part, `${difference.what} ${difference.id}`.trim());
    jobs++;
    if (jobs % jobsPerTurn !== 0) continue;
    onProgress({ phase: "answers", part: "jobs", done: Math.min(jobs, total), total });
    await setImmediate();
  }
  const readKeys = () => readVerifyingKeys(keysDir);
  const check = (path: string) => checkHome({ home, database: { kind: "file", path }, readKeys }, macKey);
  const [before, after] = [await check(rows), await check(part)];
  refuseOtherFindings(part, before, after);
  return { jobs: total, records: after.records, damaged: after.damaged };
}

const jobsPerTurn = 500;

/** Of the same jobs and records it is said that they are damaged, and of no others. */
function refuseOtherFindings(part: string, before: HomeFindings, after: HomeFindings): void {
  const said = ({ damaged, refused }: HomeFindings) => JSON.stringify([damaged.map(knownId), refused]);
  if (said(before) !== said(after)) throw different(part, "jobs that are damaged");
  if (before.auditFaults.length === 0 && after.auditFaults.length > 0) throw different(part, "audit trail");
  const records = ({ auditFaults }: HomeFindings) =>
    new Set(
      auditFaults.flatMap((fault) => /^audit record (\d+) was (?:changed|removed)/.exec(fault)?.[1] ?? []),
    );
  const missing = records(before).difference(records(after));
  if (missing.size > 0) throw different(part, `audit record ${[...missing][0]}`);
}

function different(part: string, what: string): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    `the copy ${part} answers differently about the ${what}; the old database is as it was, and the version that wrote it can use it: remove the copy, and report this`,
    { advice: "" },
  );
}

function countJobs(path: string): number {
  const sql = new Connection(path, 5_000, { isReader: true });
  try {
    return sql.first<{ count: number }>("SELECT count(*) AS count FROM jobs")!.count;
  } finally {
    sql.close();
  }
}

/** Before anything is written: a disk that is full in the middle would stop everything else on it too. */
async function begin({ rows, part }: Files, call: TakeOverCall, total: number): Promise<void> {
  const freeBytes = await freeBytesBeside(rows);
  const estimate = await expectFor(call, { rows, total, freeBytes });
  if (freeBytes >= estimate.neededBytes) return call.onBegin(estimate);
  throw new WritError(
    "STORE_UNAVAILABLE",
    `the disk of ${dirname(part)} has ${formatBytes(freeBytes)} free, and ${formatBytes(estimate.neededBytes)} are needed for a copy of ${basename(rows)} (${formatBytes(statSync(rows).size)}) in the new form; nothing was changed: make room and start again`,
    { advice: "" },
  );
}

/** The form of today is smaller, so a disk with as much room as the old file takes has enough, and that needs no sample. */
async function expectFor(
  call: TakeOverCall,
  { rows, total, freeBytes }: { rows: string; total: number; freeBytes: number },
): Promise<Expected> {
  const neededBytes = statSync(rows).size + spareBytes;
  if (call.wasSampleKilled === true && freeBytes >= neededBytes)
    return { rows: total, ms: null, neededBytes };
  call.onSample?.();
  return measureTakeOver(call);
}

function noRoomLeft({ part }: Files): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    `the disk of ${dirname(part)} is full; the old database is as it was: make room and start again, and the upgrade continues where it stopped; the version that wrote it can use it if you remove ${part}`,
    { advice: "" },
  );
}
