// The rows of lanes, of the places that are taken in them, and of the jobs that wait for one. Why: ADR 0137.
import { type LaneNumbers, type LaneState, type LaneTerm, numbersOf } from "../../core/lanes/lane.ts";
import { type Act, all, first, run, type SqlValue } from "./act.ts";
import { Columns, nullable, number, type SqlRow, text } from "./columns.ts";

export type LaneRow = LaneNumbers &
  LaneState & {
    id: number;
    tenantId: string;
    name: string;
    /** Whose job has made it, and who may give it other numbers. */
    userId: string;
    jobs: number;
    opensAt: number | null;
  };

type Stored = Omit<LaneRow, "rate"> & { limit: number | null; periodSec: number; burst: number };

const stored = new Columns<Stored>({
  id: number("id"),
  tenantId: text("tenant_id"),
  name: text("name"),
  userId: text("user_id"),
  maxRunning: nullable(number("max_running")),
  limit: nullable(number("rate_limit")),
  periodSec: number("period_sec"),
  burst: number("burst"),
  active: number("active"),
  startsUs: number("starts_us"),
  jobs: number("jobs"),
  opensAt: nullable(number("opens_at")),
});
const rows = {
  read(row: SqlRow): LaneRow {
    const { limit, periodSec, burst, ...lane } = stored.read(row);
    return { ...lane, rate: limit === null ? null : { limit, periodSec, burst } };
  },
};
const laneText = `SELECT ${stored.list} FROM job_lanes`;

export type NamedLane = { tenantId: string; userId: string; term: LaneTerm };

/** Without a lock: what another transaction has not committed yet is not seen. */
export function readLanesNamed(names: readonly { tenantId: string; name: string }[]): Act<LaneRow[]> {
  return readLanes(
    "WHERE tenant_id = ANY (?) AND name = ANY (?)",
    [...new Set(names.map(({ tenantId }) => tenantId))],
    [...new Set(names.map(({ name }) => name))],
  );
}

/** Locks these lanes, always in the same order. Those that are not there are missing in the answer. */
export function lockLanes(names: readonly { tenantId: string; name: string }[]): Act<LaneRow[]> {
  return all(
    rows,
    `${laneText} WHERE tenant_id = ANY (?) AND name = ANY (?) ORDER BY id FOR UPDATE`,
    [...new Set(names.map(({ tenantId }) => tenantId))],
    [...new Set(names.map(({ name }) => name))],
  );
}

export function readLanes(condition: string, ...values: SqlValue[]): Act<LaneRow[]> {
  return all(rows, `${laneText} ${condition}`, ...values);
}

export function lockLane(id: number): Act<LaneRow | null> {
  return first(rows, `${laneText} WHERE id = ? FOR UPDATE`, id);
}

export function lanesDue(nowMs: number, limit: number): Act<LaneRow[]> {
  return all(
    rows,
    `${laneText} WHERE id IN (SELECT id FROM job_lanes WHERE opens_at <= ? ORDER BY opens_at LIMIT ?)
      ORDER BY id FOR UPDATE`,
    nowMs,
    limit,
  );
}

const times = new Columns({ at: nullable(number("min(opens_at)")) });

export function* nextOpening(): Act<number | null> {
  return (yield* first(times, `SELECT ${times.list} FROM job_lanes WHERE opens_at IS NOT NULL`))!.at;
}

/** If another transaction has just made it, that one's numbers hold. */
export function* insertLane({ tenantId, userId, term }: NamedLane): Act<void> {
  const { maxRunning, rate } = numbersOf(term);
  yield* run(
    `INSERT INTO job_lanes (tenant_id, name, user_id, max_running, rate_limit, period_sec, burst, active, starts_us, jobs)
      VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING`,
    tenantId,
    term.name,
    userId,
    maxRunning,
    rate?.limit ?? null,
    rate?.periodSec ?? 0,
    rate?.burst ?? 0,
  );
}

export function* updateLane(lane: LaneRow): Act<void> {
  const { id, maxRunning, rate, active, startsUs, jobs, opensAt } = lane;
  yield* run(
    `UPDATE job_lanes SET max_running = ?, rate_limit = ?, period_sec = ?, burst = ?, active = ?, starts_us = ?, jobs = ?,
        opens_at = ? WHERE id = ?`,
    maxRunning,
    rate?.limit ?? null,
    rate?.periodSec ?? 0,
    rate?.burst ?? 0,
    active,
    startsUs,
    jobs,
    opensAt,
    id,
  );
}

export function removeLane({ id }: LaneRow): Act<number> {
  return run("DELETE FROM job_lanes WHERE id = ?", id);
}

/** 0 if the attempt has one already. */
export function takePlace(
  lane: LaneRow,
  job: { seq: number; id: string; userId: string; attempt: number },
): Act<number> {
  return run(
    `INSERT INTO lane_places (lane_id, job_seq, attempt, job_id, user_id) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING`,
    lane.id,
    job.seq,
    job.attempt,
    job.id,
    job.userId,
  );
}

/** How many were given back: a second time there is nothing to give back. */
export function givePlaceBack(lane: LaneRow, seq: number): Act<number> {
  return run("DELETE FROM lane_places WHERE lane_id = ? AND job_seq = ? AND until IS NULL", lane.id, seq);
}

export function keepPlace(lane: LaneRow, seq: number, until: number): Act<number> {
  const text = "UPDATE lane_places SET until = ? WHERE lane_id = ? AND job_seq = ? AND until IS NULL";
  return run(text, until, lane.id, seq);
}

export function dropPastPlaces(lane: LaneRow, nowMs: number): Act<number> {
  return run("DELETE FROM lane_places WHERE lane_id = ? AND until <= ?", lane.id, nowMs);
}

const ends = new Columns({ at: nullable(number("min(until)")) });

export function* nextPlaceEnd(lane: LaneRow): Act<number | null> {
  const text = `SELECT ${ends.list} FROM lane_places WHERE lane_id = ? AND until IS NOT NULL`;
  return (yield* first(ends, text, lane.id))!.at;
}

/** How a job stands in the line of one of its lanes. */
export const stands = { waits: 0, admitted: 1, elsewhere: 2 } as const;

export function* enterLine(
  lanes: readonly LaneRow[],
  job: { seq: number; queueId: number; priority: number },
  waitsIn: LaneRow,
): Act<void> {
  for (const lane of lanes)
    yield* run(
      `INSERT INTO lane_line (lane_id, stands, queue_id, rank, job_seq) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (job_seq, lane_id) DO UPDATE SET stands = excluded.stands`,
      lane.id,
      lane.id === waitsIn.id ? stands.waits : stands.elsewhere,
      job.queueId,
      -job.priority,
      job.seq,
    );
}

export function leaveLine(seq: number): Act<number> {
  return run("DELETE FROM lane_line WHERE job_seq = ?", seq);
}

export function admitted(seq: number): Act<number> {
  return run(`UPDATE lane_line SET stands = ${stands.admitted} WHERE job_seq = ?`, seq);
}

export function moveTo(lane: LaneRow, seq: number): Act<number> {
  return run(
    `UPDATE lane_line SET stands = CASE WHEN lane_id = ? THEN ${stands.waits} ELSE ${stands.elsewhere} END WHERE job_seq = ?`,
    lane.id,
    seq,
  );
}

const ids = new Columns({ id: number("lane_id") });

export function* lanesInLine(seq: number): Act<number[]> {
  const found = yield* all(ids, `SELECT ${ids.list} FROM lane_line WHERE job_seq = ? ORDER BY lane_id`, seq);
  return found.map(({ id }) => id);
}

const queues = new Columns({ id: nullable(number("min(queue_id)")) });

/** The next queue with jobs in the line. One seek each, however long the line is. */
export function* nextQueue(lane: LaneRow, afterId: number): Act<number | null> {
  const text = `SELECT ${queues.list} FROM lane_line WHERE lane_id = ? AND stands = ${stands.waits} AND queue_id > ?`;
  return (yield* first(queues, text, lane.id, afterId))!.id;
}

const heads = new Columns({ seq: number("job_seq") });

export function* headOfLine(lane: LaneRow, queueId: number): Act<number | null> {
  const found = yield* first(
    heads,
    `SELECT ${heads.list} FROM lane_line WHERE lane_id = ? AND stands = ${stands.waits} AND queue_id = ?
      ORDER BY rank, job_seq LIMIT 1`,
    lane.id,
    queueId,
  );
  return found?.seq ?? null;
}

const counts = new Columns({ count: number("count(*)") });

/** How many jobs of a queue can be claimed, up to a bound. */
export function* countAdmitted(lane: LaneRow, queueId: number, most: number): Act<number> {
  const found = yield* first(
    counts,
    `SELECT ${counts.list} FROM (SELECT 1 FROM lane_line
      WHERE lane_id = ? AND stands = ${stands.admitted} AND queue_id = ? LIMIT ?) AS line`,
    lane.id,
    queueId,
    most,
  );
  return found!.count;
}

/** The times of lanes measure how long something lasts. */
export const shiftLanes = [
  "UPDATE job_lanes SET starts_us = starts_us + ?1 * 1000, opens_at = opens_at + ?1",
  "UPDATE lane_places SET until = until + ?1 WHERE until IS NOT NULL",
] as const;
