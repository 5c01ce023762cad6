import { useState } from "react";
import type { JobView } from "../../contract/view-shapes.ts";
import { isEnded } from "../../core/job.ts";
import { ranMs } from "../jobs/row-text.tsx";
import { bytesText, durationText } from "../parts/format.ts";

/** What was used, beside what may be used. */
export function ResourcesPanel({ job, now }: { job: JobView; now: number }) {
  const { usage, limits } = job;
  const ran = ranMs(job, now);
  const isLive = !isEnded(job.status) && usage !== null;
  const coresNow = useCoresNow(job);
  const memory = usage?.memory_peak_bytes;
  const memoryMax = bytesIn(limits?.memory);
  const cores = coresUsed(usage?.cpu_ms, ran, isLive ? coresNow : null);
  const cpuMax = coresIn(limits?.cpu);
  if (ran === null && memory === undefined && limits === null) return null;
  return (
    <section className="panel">
      <header>
        <h2>Resources</h2>
        <span className="grow" />
        <span className="dimmer small-text">
          {usage === null ? "limits" : isLive ? "now, limit" : `attempt ${job.attempt}, limit`}
        </span>
      </header>
      <div className="meters">
        {memory === undefined && memoryMax === null ? null : (
          <Meter
            name="Memory"
            used={memory}
            max={memoryMax}
            isFull={usage?.oom === true}
            text={
              memory === undefined
                ? `up to ${bytesText(memoryMax ?? 0)}`
                : `peak ${bytesText(memory)}${memoryMax === null ? "" : ` of ${bytesText(memoryMax)}`}`
            }
          />
        )}
        {cores === undefined && cpuMax === null ? null : (
          <Meter
            name="CPU"
            used={cores}
            max={cpuMax}
            text={
              cores === undefined
                ? `up to ${limits?.cpu} cores`
                : `${cores.toFixed(2)} ${cpuMax === null ? "cores" : `of ${cpuMax} cores`}`
            }
          />
        )}
        {limits?.pids === undefined ? null : (
          <Meter name="Processes" used={undefined} max={null} text={`up to ${limits.pids}`} />
        )}
        {ran === null ? null : (
          <Meter
            name="Time"
            isPlain
            used={ran}
            max={job.timeout_sec === 0 ? null : job.max_runtime_ms}
            text={`${durationText(ran)}${job.timeout_sec === 0 ? ", no limit" : ` of ${durationText(job.max_runtime_ms)}`}`}
          />
        )}
      </div>
    </section>
  );
}

type Sample = { attempt: number; cpuMs: number; at: number };

/** How many cores it has used between its last two reports; null before the second. */
function useCoresNow({ attempt, usage, heartbeat_at }: JobView): number | null {
  const [samples, setSamples] = useState<Sample[]>([]);
  const last = samples.at(-1);
  if (usage?.cpu_ms !== undefined && heartbeat_at !== null) {
    const sample = { attempt, cpuMs: usage.cpu_ms, at: heartbeat_at };
    const isSame = last?.attempt === attempt;
    if (!isSame || (last.at < sample.at && last.cpuMs !== sample.cpuMs))
      setSamples(isSame ? [last, sample] : [sample]);
  }
  const [first, second] = samples;
  if (first === undefined || second === undefined || second.attempt !== attempt) return null;
  return Math.max(0, second.cpuMs - first.cpuMs) / (second.at - first.at);
}

/** At present if that is known, else on average. */
function coresUsed(cpuMs: number | undefined, ran: number | null, now: number | null): number | undefined {
  if (now !== null) return now;
  return cpuMs === undefined || ran === null || ran === 0 ? undefined : cpuMs / ran;
}

type MeterProps = {
  name: string;
  text: string;
  used: number | undefined;
  max: number | null;
  isFull?: boolean;
  isPlain?: boolean;
};

function Meter({ name, text, used, max, isFull = false, isPlain = false }: MeterProps) {
  const percent =
    used === undefined || max === null || max === 0 ? null : Math.min(100, Math.round((used / max) * 100));
  return (
    <div className={isFull ? "full" : undefined}>
      <span className="dim">{name}</span>
      <span className="num">{isFull ? <b className="strong alarm-text">{text}, full</b> : text}</span>
      {percent === null ? null : (
        <span
          className={isPlain ? "meter plain-meter" : "meter"}
          role="meter"
          aria-label={name}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ width: `${percent}%` }} />
        </span>
      )}
    </div>
  );
}

const unitBytes: Record<string, number> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

function bytesIn(limit: string | undefined): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)i?B?$/.exec(limit ?? "") ?? [];
  return number === undefined ? null : Number(number) * (unitBytes[unit ?? ""] ?? 1);
}

function coresIn(limit: string | undefined): number | null {
  if (limit === undefined || limit === "max") return null;
  return limit.endsWith("m") ? Number(limit.slice(0, -1)) / 1000 : Number(limit);
}
