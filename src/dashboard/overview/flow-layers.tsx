import { durationText, momentText, rateText } from "../parts/format.ts";
import { chartHeight, type FlowScale } from "./flow-scale.ts";

const labels = 6;

export function Axes({ scale }: { scale: FlowScale }) {
  const { left, right, max, steps, at, x, y } = scale;
  return (
    <>
      {[0, 1 / 3, 2 / 3, 1].map((part) => (
        <g key={part}>
          <line x1={left} x2={right} y1={y(max * part)} y2={y(max * part)} stroke="var(--line)" />
          <text x={left - 8} y={y(max * part) + 4} textAnchor="end">
            {rateText(max * part).replace(/\.0+$/, "")}
          </text>
        </g>
      ))}
      {Array.from({ length: labels }, (_, index) => {
        const step = Math.round((index / (labels - 1)) * (steps - 1));
        const start = at[step];
        return (
          <text
            key={step}
            x={x(step)}
            y={chartHeight - 3}
            textAnchor={index === 0 ? "start" : index === labels - 1 ? "end" : "middle"}
          >
            {start === undefined ? "" : momentText(start).replace(/(\d+:\d+):\d+$/, "$1")}
          </text>
        );
      })}
    </>
  );
}

export function Lines({ scale }: { scale: FlowScale }) {
  const { left, right, floor, completed, submitted, line } = scale;
  return (
    <>
      <polygon
        points={`${left},${floor} ${line(completed)} ${right},${floor}`}
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
    </>
  );
}

/** Below the lines, on a scale of their own: a few failures among many jobs would not be seen. */
export function FailedBars({ scale }: { scale: FlowScale }) {
  const { left, right, floor, failed, failedMax, barWidth, at, x } = scale;
  return (
    <>
      {failed.map((value, index) => {
        if (value === 0) return null;
        const barHeight = Math.max(1.5, (value / failedMax) * 14);
        return (
          <rect
            key={at[index]}
            x={x(index) - barWidth / 2}
            width={barWidth}
            y={floor + 20 - barHeight}
            height={barHeight}
            fill="var(--failed-mark)"
          />
        );
      })}
      <line x1={left} x2={right} y1={floor + 20} y2={floor + 20} stroke="var(--line)" />
    </>
  );
}

export function Pointer({ scale, step }: { scale: FlowScale; step: number }) {
  const { top, floor, submitted, x, y } = scale;
  return (
    <g transform={`translate(${x(step)},0)`}>
      <line y1={top} y2={floor + 20} stroke="var(--line-strong)" strokeDasharray="2 3" />
      <circle
        cy={y(submitted[step] ?? 0)}
        r="3.5"
        fill="var(--surface)"
        stroke="var(--ink)"
        strokeWidth="1.5"
      />
    </g>
  );
}

export function Tip({ scale, step }: { scale: FlowScale; step: number }) {
  const { width, at, stepMs, submitted, completed, failed, x } = scale;
  const place = x(step);
  return (
    <div className="chart-tip" style={{ left: place > width / 2 ? place - 190 : place + 12, top: 60 }}>
      <div className="row">
        <b className="strong">{momentText(at[step] ?? 0)}</b>
        <span className="dimmer">{durationText(stepMs)}</span>
      </div>
      <TipRow name="Submitted" value={submitted[step] ?? 0} />
      <TipRow name="Completed" value={completed[step] ?? 0} />
      <TipRow name="Failed" value={failed[step] ?? 0} />
    </div>
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
