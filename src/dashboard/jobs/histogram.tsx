import { mayOf, usePerson } from "../hub/session.ts";
import { type Range, useStatistics } from "../hub/statistics.ts";
import { type FoundState, type JobFilter, statesOf } from "./job-filter.ts";

const bars = 90;
const height = 36;

const rangeOf: Record<string, Range> = { "15m": "15m", "1h": "1h", "6h": "6h", "1d": "24h" };
const spanText: Record<Range, string> = {
  "15m": "15 minutes",
  "1h": "hour",
  "6h": "6 hours",
  "24h": "day",
  "30d": "30 days",
};

/**
 * When the listed jobs ended, in one line of bars. The statistics know type, tenant and state; a list with another
 * filter has no bars, because they would count other jobs.
 */
export function Histogram({ filter }: { filter: JobFilter }) {
  const known = statisticsOf(filter);
  return known === null ? null : <Bars {...known} states={statesOf(filter)} />;
}

function statisticsOf(filter: JobFilter): Omit<BarsProps, "states"> | null {
  const { state: _, type, tenant, since, ...rest } = filter;
  const range = since === undefined ? "1h" : rangeOf[since];
  if (range === undefined || type?.endsWith("*") || Object.keys(rest).length > 0) return null;
  return { range, type, tenant };
}

type BarsProps = {
  range: Range;
  type: string | undefined;
  tenant: string | undefined;
  states: readonly FoundState[];
};

function Bars({ range, type, tenant, states }: BarsProps) {
  const may = mayOf(usePerson());
  const { data } = useStatistics(range, { maySee: may.seeFleet, tenant, type });
  if (data === null || data === undefined) return null;
  const isShown = (state: FoundState) => states.length === 0 || states.includes(state);
  const none = data.series.at.map(() => 0);
  const completed = isShown("completed") ? data.series.completed : none;
  const failed = isShown("failed") || isShown("quarantined") ? data.series.failed : none;
  const per = Math.max(1, Math.ceil(completed.length / bars));
  const groups = Array.from({ length: Math.ceil(completed.length / per) }, (_, index) => {
    const sum = (series: number[]) =>
      series.slice(index * per, (index + 1) * per).reduce((total, count) => total + count, 0);
    return {
      at: data.series.at[index * per],
      completed: sum(completed),
      failed: sum(failed),
    };
  });
  const top = Math.max(1, ...groups.map((group) => group.completed + group.failed));
  if (top === 1 && groups.every((group) => group.completed + group.failed === 0)) return null;
  return (
    <div className="histogram not-phone">
      <svg
        viewBox={`0 0 ${groups.length * 10} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Jobs that ended in the last ${spanText[range]}: ${total(completed)} completed, ${total(failed)} failed`}
      >
        {groups.map((group, index) => {
          const good = (group.completed / top) * height;
          const bad = (group.failed / top) * height;
          return (
            <g key={group.at}>
              <rect
                x={index * 10}
                y={height - good}
                width="8"
                height={good}
                fill="var(--completed-mark)"
                opacity=".5"
              />
              <rect x={index * 10} y={height - good - bad} width="8" height={bad} fill="var(--failed-mark)" />
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function total(series: readonly number[]): number {
  return series.reduce((sum, count) => sum + count, 0);
}
