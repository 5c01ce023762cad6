import type { LaneNumbers } from "../core/lanes/lane.ts";

/** The part of the store that tells about lanes. They change with the rows of jobs alone. Why: ADR 0137. */
export type LaneStore = {
  /** Those that jobs name now, in order of tenant and name; null for all tenants. */
  listLanes(input: {
    tenantId: string | null;
    after: { tenantId: string; name: string } | null;
    limit: number;
  }): Promise<StoredLane[]>;
  /** Of these names, those that there are. */
  getLanes(input: { tenantId: string; names: string[] }): Promise<StoredLane[]>;
};

export type StoredLane = LaneNumbers & {
  tenantId: string;
  name: string;
  /** Whose job has made it. */
  userId: string;
  /** How many places are taken, also those of attempts that the hub has ended a moment ago. */
  active: number;
  /** When the next start would be due at the pace of its rate, in microseconds. */
  startsUs: number;
  /** How many jobs that have not ended name it. */
  jobs: number;
  /** The first jobs that have places, the longest first. `until` is when a place is given back that the hub has taken away. */
  holders: { jobId: string; userId: string; until: number | null }[];
};
