import { type PointerEvent, useEffect, useRef, useState } from "react";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import { durationText, momentText } from "../parts/format.ts";
import { Axes, FailedBars, Lines, Pointer, Tip } from "./flow-layers.tsx";
import { chartHeight, flowScale } from "./flow-scale.ts";

/** Submitted and completed on one scale, failures below on their own. */
export function FlowChart({ statistics }: { statistics: StatisticsView }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [at, setAt] = useState<number | null>(null);
  const scale = flowScale(statistics, width);
  const step = at === null || at >= scale.steps ? null : at;
  const point = (event: PointerEvent) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    setAt(scale.stepAt(event.clientX - left));
  };
  return (
    <section className="panel">
      <header>
        <h2>Flow</h2>
        <span className="grow">jobs per second, {durationText(statistics.step_ms)} steps</span>
        <Legend />
      </header>
      <div className="chart" ref={box} onPointerMove={point} onPointerLeave={() => setAt(null)}>
        <svg
          height={chartHeight}
          viewBox={`0 0 ${width} ${chartHeight}`}
          role="img"
          aria-label={sentence(statistics)}
        >
          <Axes scale={scale} />
          <Lines scale={scale} />
          <FailedBars scale={scale} />
          {step === null ? null : <Pointer scale={scale} step={step} />}
        </svg>
        {step === null ? null : <Tip scale={scale} step={step} />}
      </div>
    </section>
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
