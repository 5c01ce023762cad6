import type { ReactNode } from "react";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import { countText, durationText, rateText } from "../parts/format.ts";
import { Spark } from "../parts/spark.tsx";

/** The six most telling figures of a queue. */
export function Signals({ statistics }: { statistics: StatisticsView }) {
  const { series, totals, before, now, from, until } = statistics;
  const seconds = Math.max(1, (until - from) / 1000);
  const ended = totals.completed + totals.failed;
  const href = (query: string) => jobsPath(query, statistics.tenant_id);
  const failureRate = ended === 0 ? 0 : (totals.failed / ended) * 100;
  return (
    <section className="panel signals" aria-label="Signals">
      <Signal
        name="Throughput"
        {...throughputText(totals.completed / seconds)}
        note={changeText(totals.completed, before?.completed)}
        spark={<Spark values={series.completed} colour="var(--completed-mark)" />}
        href={href("state=completed")}
      />
      <Signal
        name="Queue depth"
        figure={countText(now.depth)}
        unit="waiting"
        note={queueNote(statistics)}
        spark={<Spark values={series.depth} colour="var(--pending-mark)" />}
        href={href("state=pending")}
      />
      <Signal
        name="Oldest wait"
        figure={now.depth === 0 ? "–" : durationText(now.oldest_wait_ms)}
        unit=""
        note={now.depth === 0 ? "nothing waits" : "the first of its queue"}
        spark={<Spark values={series.oldest_wait_ms} colour="var(--assigned-mark)" />}
        href={href("state=pending&until=1m")}
      />
      <Signal
        name="Failure rate"
        figure={failureRate === 0 ? "0" : failureRate < 10 ? failureRate.toFixed(2) : failureRate.toFixed(0)}
        unit="%"
        note={failureNote(statistics)}
        spark={<Spark values={series.failed} colour="var(--failed-mark)" />}
        href={href("state=failed,quarantined")}
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
        href={href("")}
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
        href={href("")}
      />
    </section>
  );
}

/** The address of a list of jobs, of one tenant if the figures are about one. */
export function jobsPath(query: string, tenant: string | null): string {
  const parts = [query, tenant === null ? "" : `tenant=${encodeURIComponent(tenant)}`].filter(Boolean);
  return parts.length === 0 ? "/jobs" : `/jobs?${parts.join("&")}`;
}

/** Whether a queue drains is measured over this many whole steps; the last step has not ended. */
const drainSteps = 8;
/** A shorter queue is not judged. */
const drainDepthMin = 10;
const drainMsMax = 3_600_000;

function queueNote({ series, now, step_ms }: StatisticsView): ReactNode {
  const sum = (values: number[]) => values.slice(-drainSteps - 1, -1).reduce((all, one) => all + one, 0);
  const drained = sum(series.completed) + sum(series.failed) + sum(series.cancelled) - sum(series.submitted);
  const later = now.scheduled ? `, ${countText(now.scheduled)} scheduled` : "";
  const running = `${countText(now.running)} running now${later}`;
  const emptyMs = (now.depth / drained) * drainSteps * step_ms;
  if (now.depth < drainDepthMin || drained <= 0 || emptyMs > drainMsMax) return running;
  return (
    <>
      draining, <b>empty in about {durationText(emptyMs)}</b>
    </>
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

/** A larger change means that the earlier period was nearly empty, and tells nothing. */
const changePercentMax = 400;

function changeText(now: number, before: number | undefined): ReactNode {
  if (before === undefined || before === 0) return `${countText(now)} completed`;
  const percent = Math.round((now / before - 1) * 100);
  if (percent > changePercentMax) return `${countText(now)} completed`;
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
