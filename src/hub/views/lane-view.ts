import type { LaneView } from "../../contract/shapes/lane-shapes.ts";
import { accessToJob, type Identity } from "../../core/identity.ts";
import { type LaneNumbers, rateOpensAt } from "../../core/lanes/lane.ts";
import type { StoredLane } from "../../store/lane-store.ts";

/** The numbers of a lane as callers give them. */
export function laneNumbersView({ maxRunning, rate }: LaneNumbers): Pick<LaneView, "max_running" | "rate"> {
  const shown = rate === null ? null : { limit: rate.limit, period_sec: rate.periodSec, burst: rate.burst };
  return { max_running: maxRunning, rate: shown };
}

/** Jobs of others are only counted. */
export function laneView(lane: StoredLane, identity: Identity, nowMs: number): LaneView {
  const { tenantId } = lane;
  return {
    tenant_id: tenantId,
    name: lane.name,
    user_id: lane.userId,
    ...laneNumbersView(lane),
    active: lane.active,
    unfinished: lane.jobs,
    opens_at: rateOpensAt(lane, nowMs),
    holders: lane.holders
      .filter(({ userId }) => accessToJob(identity, { tenantId, userId }, "read") === "allowed")
      .map(({ jobId, until }) => ({ job_id: jobId, until })),
  };
}
