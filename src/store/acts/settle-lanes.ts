// The one place in which lanes change: where the row of a job does. Why: ADR 0137.
import {
  isSameLane,
  type LaneTerm,
  numbersOf,
  placesFree,
  rateOpensAt,
  withStart,
} from "../../core/lanes/lane.ts";
import type { LaneStand } from "../../core/lanes/lane-move.ts";
import type { Act } from "./act.ts";
import type { LaneRow } from "./lane-rows.ts";
import * as rows from "./lane-rows.ts";

/** A job as its row says now, and as its lanes have known it until now. */
export type LaneMove = {
  seq: number;
  id: string;
  queueId: number;
  priority: number;
  tenantId: string;
  userId: string;
  attempt: number;
  terms: readonly LaneTerm[];
  from: LaneStand;
  to: LaneStand;
  /** Its numbers hold from now on, if its user has made the lane. */
  isNew: boolean;
  /** Until when its places are still taken after it has ended; null for no longer. */
  lingersUntil: number | null;
};

/** What a driver does with a job whose row stays as it is otherwise. */
export type LaneDriver = {
  /** It can be claimed. False if another transaction is changing it. */
  admit(seq: number): Act<boolean>;
  /** It waits in the line of a lane. */
  putInLine(seq: number): void;
};

/** More jobs of one queue need not be claimable at once; each claim admits the next ones. */
const admittedMax = 64;
/** Jobs at the head of a line that wait for another of their lanes are moved there, at most as many at a time. */
const movedMax = 100;

/** The lanes of one call, locked. */
export type OpenLanes = Map<number, LaneRow>;

export function* settleLanes(driver: LaneDriver, moves: readonly LaneMove[], nowMs: number): Act<void> {
  const open = yield* openLanes(moves);
  const byName = new Map([...open.values()].map((lane) => [keyOf(lane), lane.id]));
  for (const move of moves) {
    const ids = move.terms.map(({ name }) => byName.get(keyOf({ tenantId: move.tenantId, name }))!);
    yield* settleJob(driver, open, { move, ids, nowMs });
  }
  yield* refreshAll(driver, open, nowMs);
}

/** Lets lanes open whose time has come; answers when the next one may. */
export function* openDueLanes(
  driver: LaneDriver,
  { nowMs, limit }: { nowMs: number; limit: number },
): Act<number | null> {
  const due = yield* rows.lanesDue(nowMs, limit);
  const open: OpenLanes = new Map(due.map((lane) => [lane.id, lane]));
  for (const lane of due) {
    const past = yield* rows.dropPastPlaces(lane, nowMs);
    open.set(lane.id, { ...lane, active: lane.active - past });
  }
  yield* refreshAll(driver, open, nowMs);
  return yield* rows.nextOpening();
}

function keyOf({ tenantId, name }: { tenantId: string; name: string }): string {
  return `${tenantId} ${name}`;
}

/** A job and the lanes that it names. */
type InLanes = Pick<LaneMove, "tenantId" | "userId" | "terms">;

/** All lanes of these jobs. One that is not there is made from the first job that names it. */
export function* openLanes(moves: readonly InLanes[]): Act<OpenLanes> {
  const wanted = new Map<string, rows.NamedLane>();
  for (const { tenantId, userId, terms } of moves)
    for (const term of terms) {
      const key = keyOf({ tenantId, name: term.name });
      if (!wanted.has(key)) wanted.set(key, { tenantId, userId, term });
    }
  const names = [...wanted.values()].map(({ tenantId, term }) => ({ tenantId, name: term.name }));
  const isWanted = (lane: LaneRow) => wanted.has(keyOf(lane));
  const found = (yield* rows.lockLanes(names)).filter(isWanted);
  if (found.length === wanted.size) return new Map(found.map((lane) => [lane.id, lane]));
  const known = new Set(found.map(keyOf));
  const missing = [...wanted].filter(([key]) => !known.has(key)).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, lane] of missing) yield* rows.insertLane(lane);
  const all = (yield* rows.lockLanes(names)).filter(isWanted);
  return new Map(all.map((lane) => [lane.id, lane]));
}

type JobInLanes = { move: LaneMove; ids: number[]; nowMs: number };

function* settleJob(driver: LaneDriver, open: OpenLanes, { move, ids, nowMs }: JobInLanes): Act<void> {
  const { seq, from, to } = move;
  if (from === "taken" && to !== "taken") yield* leave(open, move, ids);
  for (const [index, id] of ids.entries()) {
    const lane = open.get(id)!;
    const jobs = lane.jobs + Number(to !== "gone") - Number(from !== "gone");
    const isOwn = move.isNew && lane.userId === move.userId;
    open.set(id, { ...lane, ...(isOwn ? numbersOf(move.terms[index]!) : {}), jobs });
  }
  if (to === "ready") {
    const lanes = ids.map((id) => open.get(id)!);
    const closed = lanes.find((lane) => placesFree(lane, nowMs) === 0) ?? lanes[0]!;
    yield* rows.enterLine(lanes, move, closed);
    driver.putInLine(seq);
  } else if (from !== "taken" || to !== "taken") yield* rows.leaveLine(seq);
  if (to === "taken" && from !== "taken")
    for (const id of ids)
      if ((yield* rows.takePlace(open.get(id)!, move)) > 0) open.set(id, withStart(open.get(id)!, nowMs));
}

function* leave(open: OpenLanes, { seq, lingersUntil }: LaneMove, ids: number[]): Act<void> {
  for (const id of ids) {
    const lane = open.get(id)!;
    if (lingersUntil !== null) yield* rows.keepPlace(lane, seq, lingersUntil);
    else {
      const given = yield* rows.givePlaceBack(lane, seq);
      open.set(id, { ...lane, active: lane.active - given });
    }
  }
}

function* refreshAll(driver: LaneDriver, open: OpenLanes, nowMs: number): Act<void> {
  for (const id of [...open.keys()]) yield* admitNext(driver, open, id, nowMs);
  for (const lane of open.values()) yield* writeLane(lane, nowMs);
}

/** In each queue, as many jobs can be claimed as there are places, so that no queue waits for the workers of another. */
function* admitNext(driver: LaneDriver, open: OpenLanes, id: number, nowMs: number): Act<void> {
  const free = Math.min(admittedMax, placesFree(open.get(id)!, nowMs));
  if (free === 0) return;
  for (let queueId = yield* rows.nextQueue(open.get(id)!, 0); queueId !== null; ) {
    let admitted = yield* rows.countAdmitted(open.get(id)!, queueId, free);
    for (let moved = 0; admitted < free && moved < movedMax; ) {
      const seq = yield* rows.headOfLine(open.get(id)!, queueId);
      if (seq === null) break;
      const other = yield* closedLane(open, seq, nowMs);
      if (other !== null) {
        yield* rows.moveTo(other, seq);
        moved++;
      } else if (yield* driver.admit(seq)) {
        yield* rows.admitted(seq);
        admitted++;
      } else break;
    }
    queueId = yield* rows.nextQueue(open.get(id)!, queueId);
  }
}

/** One of the lanes of a waiting job that has no place for it. */
function* closedLane(open: OpenLanes, seq: number, nowMs: number): Act<LaneRow | null> {
  for (const id of yield* rows.lanesInLine(seq)) {
    const lane = open.get(id) ?? (yield* rows.lockLane(id))!;
    open.set(id, lane);
    if (placesFree(lane, nowMs) === 0) return lane;
  }
  return null;
}

/** A lane that no job names and in which nothing is remembered goes. */
function* writeLane(lane: LaneRow, nowMs: number): Act<void> {
  const isIdle = lane.jobs === 0 && lane.active === 0;
  const opensAt = rateOpensAt({ ...lane, active: 0 }, nowMs);
  if (isIdle && opensAt === null) {
    yield* rows.removeLane(lane);
    return;
  }
  const endsAt = lane.active === 0 ? null : yield* rows.nextPlaceEnd(lane);
  const times = [opensAt, endsAt].filter((at) => at !== null);
  yield* rows.updateLane({ ...lane, opensAt: times.length === 0 ? null : Math.min(...times) });
}

/** Whether each lane of a job has room now; counts it as started in the lanes that are given. */
export function mayStart(open: OpenLanes, job: InLanes, nowMs: number): boolean {
  const lanes = job.terms.map(({ name }) =>
    [...open.values()].find((lane) => lane.name === name && lane.tenantId === job.tenantId),
  );
  if (lanes.some((lane) => lane !== undefined && placesFree(lane, nowMs) === 0)) return false;
  for (const lane of lanes) if (lane !== undefined) open.set(lane.id, withStart(lane, nowMs));
  return true;
}

/** The first lane that another user's job has made with other numbers. */
export function findDifferent(lanes: Iterable<LaneRow>, job: InLanes): LaneRow | null {
  for (const lane of lanes) {
    const term = job.terms.find(({ name }) => name === lane.name && job.tenantId === lane.tenantId);
    if (term === undefined || lane.userId === job.userId) continue;
    if (!isSameLane(numbersOf(term), lane)) return lane;
  }
  return null;
}
