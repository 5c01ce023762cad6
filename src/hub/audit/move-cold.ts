import type { SealedRecord } from "../../store/log/audit-record.ts";
import type { HubDeps } from "../deps.ts";
import { signMark } from "./audit-marks.ts";
import { appendCold, dayOf, listColdDays, readCold, removeCold } from "./cold-files.ts";
import { type SealerDeps, saveMark } from "./sealer.ts";

const dayMs = 86_400_000;
const recordsPerTurn = 500;
/** The most records that are compressed at once; a larger day becomes a file of several pieces. */
const recordsPerPiece = 50_000;

type MoveDeps = SealerDeps & Pick<HubDeps, "settings"> & { auditDir: string };

/**
 * Moves old records from the table into files, one for each day, and deletes files that are too old. Only whole days
 * move, in order, and only sealed records. A record is removed from the table after its file is on the disk: after a
 * crash in between it is in both, and the next round removes it. Why: ADR 0014.
 */
export async function moveCold(deps: MoveDeps, signal: AbortSignal): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const hotFrom = Date.parse(dayOf(nowMs - deps.settings.auditHotDays * dayMs));
  const movedSeq = (await hasOlder(deps, hotFrom)) ? await lastColdSeq(deps) : 0;
  if (movedSeq > 0) await dropMoved(deps, movedSeq, signal);
  while (!signal.aborted) {
    const piece = await nextPiece(deps, hotFrom);
    if (piece === null) break;
    await appendCold(deps.auditDir, piece.day, piece.records);
    await dropMoved(deps, piece.records.at(-1)!.seq, signal);
  }
  await forgetOld(deps, dayOf(nowMs - deps.settings.auditColdDays * dayMs));
}

/** The oldest records that belong in one file. If the clock was set back, they go into the newest file. */
async function nextPiece(
  deps: MoveDeps,
  hotFrom: number,
): Promise<{ day: string; records: SealedRecord[] } | null> {
  const newest = (await listColdDays(deps.auditDir)).at(-1) ?? "";
  const records: SealedRecord[] = [];
  let day = "";
  let afterSeq = (await deps.store.eventRange()).first - 1;
  while (records.length < recordsPerPiece) {
    const page = await deps.store.readSealed({ afterSeq, limit: recordsPerTurn });
    for (const record of page) {
      const ts = Date.parse(record.timestamp);
      const ownDay = [dayOf(ts), newest].sort().at(-1)!;
      if (day === "") day = ownDay;
      if (ts >= hotFrom || ownDay > day) return records.length === 0 ? null : { day, records };
      records.push(record);
    }
    if (page.length < recordsPerTurn) break;
    afterSeq = page.at(-1)!.seq;
  }
  return records.length === 0 ? null : { day, records };
}

async function hasOlder(deps: MoveDeps, hotFrom: number): Promise<boolean> {
  const { first } = await deps.store.eventRange();
  const [oldest] = await deps.store.readSealed({ afterSeq: first - 1, limit: 1 });
  return oldest !== undefined && Date.parse(oldest.timestamp) < hotFrom;
}

async function dropMoved(deps: MoveDeps, throughSeq: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { removed } = await deps.store.pruneEvents({ throughSeq, limit: recordsPerTurn });
    if (removed < recordsPerTurn) return;
  }
}

async function lastColdSeq(deps: MoveDeps): Promise<number> {
  const newest = (await listColdDays(deps.auditDir)).at(-1);
  if (newest === undefined) return 0;
  let last = 0;
  for await (const record of readCold(deps.auditDir, newest)) last = record.seq;
  return last;
}

/** The hub signs the new start of the chain; otherwise a removed file would count as missing. */
async function forgetOld(deps: MoveDeps, keptFrom: string): Promise<void> {
  const days = await listColdDays(deps.auditDir);
  const old = days.filter((day) => day < keptFrom);
  const next = days.find((day) => day >= keptFrom);
  // The newest file stays however old it is, because the chain must continue from it.
  if (old.length === 0 || next === undefined) return;
  for await (const { seq, prev_hash: hash } of readCold(deps.auditDir, next)) {
    const said = { audit: "start", seq, hash, ts: deps.clock.nowMs() } as const;
    await saveMark(deps, signMark(deps.keys.signing, said));
    break;
  }
  for (const day of old) await removeCold(deps.auditDir, day);
}
