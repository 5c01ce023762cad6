/**
 * The part of the store that keeps statistics: texts of periods, which core/statistics reads and adds. Why: ADR 0047.
 */
export type StatisticsStore = {
  /**
   * Adds each period to what is stored for its time in every resolution, and deletes what is older than that resolution
   * keeps. Periods of several hubs add up.
   */
  addStatistics(input: { periods: StoredPeriod[]; nowMs: number }): Promise<void>;
  /** In order of time: the periods of this length that begin at `from` or later and before `until`. */
  readStatistics(input: StatisticsFilter): Promise<{ start: number; period: string }[]>;
};

/** What one tenant did from `start` on, for as long as the shortest resolution; of all tenants if `tenantId` is null. */
export type StoredPeriod = { tenantId: string | null; start: number; period: string };

export type StatisticsFilter = { tenantId: string | null; lengthMs: number; from: number; until: number };
