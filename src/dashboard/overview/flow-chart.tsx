import { type PointerEvent, useEffect, useRef, useState } from "react";
import type { StatisticsView } from "../../contract/statistics-routes.ts";
import { durationText, momentText } from "../parts/format.ts";
import { rateText } from "./signals.tsx";

const height = 240;
const left = 40;
const right = 14;
const top = 10;
const bottom = 40;
const labels = 6;

/** Submitted and completed on one scale, failures below on their own. */
export function FlowChart({ statistics }: { statistics: StatisticsView }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [at, setAt] = useState<number | null>(null);
  const { series, step_ms } = statistics;
  const perSec = (count: number) => count / (step_ms / 1000);
  const submitted = series.submitted.map(perSec);
  const completed = series.completed.map(perSec);
  const failed = series.failed.map(perSec);
  const max = niceMax(Math.max(0.01, ...submitted, ...completed));
  const failedMax = Math.max(0.0001, ...failed);
  const steps = series.at.length;
  const floor = height - bottom;
  const x = (index: number) => left + (index / Math.max(1, steps - 1)) * (width - left - right);
  const y = (value: number) => floor - (value / max) * (floor - top);
  const line = (values: number[]) =>
    values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const barWidth = Math.max(1, ((width - left - right) / Math.max(1, steps)) * 0.6);
  const point = (event: PointerEvent) => {
    const { left: from } = event.currentTarget.getBoundingClientRect();
    const index = Math.round(
      ((event.clientX - from - left) / Math.max(1, width - left - right)) * (steps - 1),
    );
    setAt(index >= 0 && index < steps ? index : null);
  };
  return (
    <section className="panel">
      <header>
        <h2>Flow</h2>
        <span className="grow">jobs per second, {durationText(step_ms)} steps</span>
        <Legend />
      </header>
      <div className="chart" ref={box} onPointerMove={point} onPointerLeave={() => setAt(null)}>
        <svg height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={sentence(statistics)}>
          {[0, 1 / 3, 2 / 3, 1].map((part) => (
            <g key={part}>
              <line x1={left} x2={width - right} y1={y(max * part)} y2={y(max * part)} stroke="var(--line)" />
              <text x={left - 8} y={y(max * part) + 4} textAnchor="end">
                {rateText(max * part)}
              </text>
            </g>
          ))}
          {Array.from({ length: labels }, (_, index) => {
            const step = Math.round((index / (labels - 1)) * (steps - 1));
            return (
              <text
                key={step}
                x={x(step)}
                y={height - 3}
                textAnchor={index === 0 ? "start" : index === labels - 1 ? "end" : "middle"}
              >
                {series.at[step] === undefined
                  ? ""
                  : momentText(series.at[step]).replace(/(\d+:\d+):\d+$/, "$1")}
              </text>
            );
          })}
          <polygon
            points={`${left},${floor} ${line(completed)} ${width - right},${floor}`}
            fill="var(--completed-mark)"
            opacity=".08"
          />
          <polyline points={line(completed)} fill="none" stroke="var(--completed-mark)" strokeWidth="1.6" />
          <polyline
            points={line(submitted)}
            fill="none"
            stroke="var(--ink-2)"
            strokeWidth="1.3"
            strokeDasharray="4 3"
          />
          {failed.map((value, index) => {
            const barHeight = value === 0 ? 0 : Math.max(1.5, (value / failedMax) * 14);
            const start = series.at[index];
            return barHeight === 0 ? null : (
              <rect
                key={start}
                x={x(index) - barWidth / 2}
                width={barWidth}
                y={floor + 20 - barHeight}
                height={barHeight}
                fill="var(--failed-mark)"
              />
            );
          })}
          <line x1={left} x2={width - right} y1={floor + 20} y2={floor + 20} stroke="var(--line)" />
          {at === null ? null : (
            <g transform={`translate(${x(at)},0)`}>
              <line y1={top} y2={floor + 20} stroke="var(--line-strong)" strokeDasharray="2 3" />
              <circle
                cy={y(submitted[at] ?? 0)}
                r="3.5"
                fill="var(--surface)"
                stroke="var(--ink)"
                strokeWidth="1.5"
              />
            </g>
          )}
        </svg>
        {at === null || series.at[at] === undefined ? null : (
          <div className="chart-tip" style={{ left: x(at) > width / 2 ? x(at) - 190 : x(at) + 12, top: 60 }}>
            <div className="row">
              <b className="strong">{momentText(series.at[at])}</b>
              <span className="dimmer">{durationText(step_ms)}</span>
            </div>
            <TipRow name="Submitted" value={submitted[at] ?? 0} />
            <TipRow name="Completed" value={completed[at] ?? 0} />
            <TipRow name="Failed" value={failed[at] ?? 0} />
          </div>
        )}
      </div>
    </section>
  );
}

function TipRow({ name, value }: { name: string; value: number }) {
  return (
    <div className="row">
      <span className="dim">{name}</span>
      <span>{rateText(value)} /s</span>
    </div>
  );
}

function Legend() {
  return (
    <span className="not-phone">
      <span className="key">
        <svg viewBox="0 0 18 8" aria-hidden="true">
          <path d="M0 4h18" stroke="var(--ink-2)" strokeWidth="1.5" strokeDasharray="4 3" />
        </svg>
        Submitted
      </span>
      <span className="key">
        <svg viewBox="0 0 18 8" aria-hidden="true">
          <path d="M0 4h18" stroke="var(--completed-mark)" strokeWidth="2" />
        </svg>
        Completed
      </span>
      <span className="key">
        <svg viewBox="0 0 18 8" aria-hidden="true">
          <path d="M2 0h3v8H2zM8 3h3v5H8zM14 1h3v7h-3z" fill="var(--failed-mark)" />
        </svg>
        Failed, own scale
      </span>
    </span>
  );
}

/** The next of 1, 1.5, 3, 6 times a power of ten, so that thirds of it are round. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1.5, 3, 6, 15];
  return (steps.find((step) => step * power >= value) ?? 15) * power;
}

function sentence({ totals, from, until }: StatisticsView): string {
  return `From ${momentText(from)} to ${momentText(until)}: ${totals.submitted} jobs submitted, ${totals.completed} completed, ${totals.failed} failed.`;
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(760);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const sizes = new ResizeObserver(() => setWidth(Math.max(280, element.clientWidth - 12)));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [box]);
  return width;
}
