import type { ReactNode } from "react";
import type { StatisticsView } from "../../contract/statistics-routes.ts";
import { countText, durationText } from "../parts/format.ts";
import { Spark } from "../parts/spark.tsx";

/** The six figures that tell most about a queue. */
export function Signals({ statistics }: { statistics: StatisticsView }) {
  const { series, totals, before, now, from, until } = statistics;
  const seconds = Math.max(1, (until - from) / 1000);
  const ended = totals.completed + totals.failed;
  const failureRate = ended === 0 ? 0 : (totals.failed / ended) * 100;
  return (
    <section className="panel signals" aria-label="Signals">
      <Signal
        name="Throughput"
        {...throughputText(totals.completed / seconds)}
        note={changeText(totals.completed, before?.completed)}
        spark={<Spark values={series.completed} colour="var(--completed-mark)" />}
        href="/jobs?state=completed"
      />
      <Signal
        name="Queue depth"
        figure={countText(now.depth)}
        unit="waiting"
        note={
          <>
            <b>{countText(now.running)}</b> running now
          </>
        }
        spark={<Spark values={series.depth} colour="var(--pending-mark)" />}
        href="/jobs?state=pending"
      />
      <Signal
        name="Oldest wait"
        figure={durationText(now.oldest_wait_ms)}
        unit=""
        note={now.depth === 0 ? "nothing waits" : "the first of its queue"}
        spark={<Spark values={series.oldest_wait_ms} colour="var(--assigned-mark)" />}
        href="/jobs?state=pending&until=1m"
      />
      <Signal
        name="Failure rate"
        figure={failureRate === 0 ? "0" : failureRate < 10 ? failureRate.toFixed(2) : failureRate.toFixed(0)}
        unit="%"
        note={failureNote(statistics)}
        spark={<Spark values={series.failed} colour="var(--failed-mark)" />}
        href="/jobs?state=failed,quarantined"
      />
      <Signal
        name="Wait"
        {...pairText(totals.wait_p50_ms, totals.wait_p95_ms)}
        note={<Percentiles />}
        spark={
          <Spark
            values={series.wait_p50_ms}
            second={series.wait_p95_ms}
            colour="var(--ink)"
            secondColour="var(--ink-2)"
          />
        }
        href="/jobs"
      />
      <Signal
        name="Run"
        {...pairText(totals.run_p50_ms, totals.run_p95_ms)}
        note={<Percentiles />}
        spark={
          <Spark
            values={series.run_p50_ms}
            second={series.run_p95_ms}
            colour="var(--ink)"
            secondColour="var(--ink-2)"
          />
        }
        href="/jobs"
      />
    </section>
  );
}

type SignalProps = {
  name: string;
  figure: string;
  unit: ReactNode;
  note: ReactNode;
  spark: ReactNode;
  href: string;
};

function Signal({ name, figure, unit, note, spark, href }: SignalProps) {
  return (
    <a href={href}>
      <div className="name">{name}</div>
      <div className="figure">
        <span>{figure}</span>
        <small>{unit}</small>
      </div>
      <div className="note">{note}</div>
      {spark}
    </a>
  );
}

function Percentiles() {
  return (
    <>
      <b>p50</b> solid, <b>p95</b> dashed
    </>
  );
}

function pairText(p50: number | null, p95: number | null): { figure: string; unit: ReactNode } {
  if (p50 === null || p95 === null) return { figure: "–", unit: "nothing yet" };
  return { figure: durationText(p50), unit: <span className="second-figure">/ {durationText(p95)}</span> };
}

/** In the unit that gives a readable number. */
function throughputText(perSec: number): { figure: string; unit: string } {
  if (perSec >= 0.5 || perSec === 0) return { figure: rateText(perSec), unit: "jobs/s" };
  if (perSec * 60 >= 0.5) return { figure: rateText(perSec * 60), unit: "jobs/min" };
  return { figure: rateText(perSec * 3600), unit: "jobs/h" };
}

/** Three figures, however small the rate is. */
export function rateText(perSec: number): string {
  if (perSec === 0) return "0";
  if (perSec >= 100) return Math.round(perSec).toString();
  return perSec.toPrecision(perSec >= 10 ? 3 : 2);
}

function changeText(now: number, before: number | undefined): ReactNode {
  if (before === undefined || before === 0) return `${countText(now)} completed`;
  const percent = Math.round((now / before - 1) * 100);
  return (
    <>
      <b>{percent >= 0 ? `+${percent}` : percent} %</b> on the time before
    </>
  );
}

function failureNote({ totals, before }: StatisticsView): ReactNode {
  const ended = (counts: { completed: number; failed: number }) => counts.completed + counts.failed;
  if (before === null || ended(before) === 0 || before.failed === 0 || ended(totals) === 0) {
    return `${countText(totals.failed)} of ${countText(ended(totals))}`;
  }
  const times = totals.failed / ended(totals) / (before.failed / ended(before));
  return (
    <>
      <b className={times > 1.5 ? "worse" : undefined}>{times.toFixed(1)}×</b> the time before
    </>
  );
}
