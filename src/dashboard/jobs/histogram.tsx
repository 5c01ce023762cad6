import { mayOf, usePerson } from "../hub/session.ts";
import { useStatistics } from "../hub/statistics.ts";

const bars = 90;
const height = 36;

/** The last hour in one line: what ended well, what failed, what still waits or runs. */
export function Histogram() {
  const may = mayOf(usePerson());
  const { data } = useStatistics("1h", { maySee: may.seeFleet });
  if (data === null || data === undefined) return null;
  const { completed, failed, submitted } = data.series;
  const per = Math.max(1, Math.ceil(completed.length / bars));
  const groups = Array.from({ length: Math.ceil(completed.length / per) }, (_, index) => {
    const sum = (series: number[]) =>
      series.slice(index * per, (index + 1) * per).reduce((total, count) => total + count, 0);
    return {
      at: data.series.at[index * per],
      completed: sum(completed),
      failed: sum(failed),
      submitted: sum(submitted),
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
        aria-label={`Jobs that ended in the last hour: ${data.totals.completed} completed, ${data.totals.failed} failed`}
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
