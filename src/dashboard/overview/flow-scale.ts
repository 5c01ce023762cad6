import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";

export const chartHeight = 240;
const left = 44;
const right = 14;
const top = 10;
const bottom = 40;
/** An empty chart is drawn up to this rate, so that its labels stay short. */
const ratePerSecMin = 0.1;

export type FlowScale = ReturnType<typeof flowScale>;

/** The position of each value in a chart of this width. */
export function flowScale({ series, step_ms }: StatisticsView, width: number) {
  const perSec = (count: number) => count / (step_ms / 1000);
  const submitted = series.submitted.map(perSec);
  const completed = series.completed.map(perSec);
  const failed = series.failed.map(perSec);
  const steps = series.at.length;
  const max = niceMax(Math.max(ratePerSecMin, ...submitted, ...completed));
  const floor = chartHeight - bottom;
  const innerWidth = width - left - right;
  const y = (value: number) => floor - (value / max) * (floor - top);
  const x = (index: number) => left + (index / Math.max(1, steps - 1)) * innerWidth;
  return {
    ...{ left, top, floor, max, steps, x, y, submitted, completed, failed },
    at: series.at,
    stepMs: step_ms,
    width,
    right: width - right,
    failedMax: Math.max(0.0001, ...failed),
    barWidth: Math.max(1, (innerWidth / Math.max(1, steps)) * 0.6),
    line: (values: number[]) =>
      values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
    /** The step at this horizontal position, if there is one. */
    stepAt: (place: number): number | null => {
      const index = Math.round(((place - left) / Math.max(1, innerWidth)) * (steps - 1));
      return index >= 0 && index < steps ? index : null;
    },
  };
}

/** The next of 1.5, 3, 6, 15 times a power of ten, so that thirds of it are round. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1.5, 3, 6, 15];
  return (steps.find((step) => step * power >= value) ?? 15) * power;
}
