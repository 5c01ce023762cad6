import type { JobView } from "../../contract/view-shapes.ts";
import { isEnded } from "../../core/job.ts";
import { type LimitsText, resolveLimits } from "../../core/limits.ts";
import { ranMs } from "../jobs/row-text.tsx";
import { bytesText, countText, durationText } from "../parts/format.ts";
import { Meter, type MeterProps } from "./meter.tsx";
import { useRates } from "./use-rates.ts";

/** What was used, beside what may be used. */
export function ResourcesPanel({ job, now }: { job: JobView; now: number }) {
  const { usage, limits } = job;
  const ran = ranMs(job, now);
  const isLive = !isEnded(job.status) && usage !== null;
  const rates = useRates(job);
  if (ran === null && usage === null && limits === null) return null;
  const used: Used = {
    usage,
    ranMs: ran,
    rates: isLive ? rates : null,
    // Its worker may set limits of its own; only those that were asked for are known here.
    limits: { ...resolveLimits((limits ?? {}) as LimitsText), pidsMax: limits?.pids ?? null },
    isProcess: usage !== null || limits !== null,
  };
  const meters = [cpuMeter(used), memoryMeter(used), diskMeter(used), processesMeter(used)];
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
        {meters.map((meter) => (meter === null ? null : <Meter key={meter.name} {...meter} />))}
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

type Used = {
  usage: JobView["usage"];
  ranMs: number | null;
  rates: ReturnType<typeof useRates>;
  limits: ReturnType<typeof resolveLimits>;
  isProcess: boolean;
};

function cpuMeter({ usage, ranMs, rates, limits }: Used): MeterProps | null {
  const max = limits.cpuMillis === null ? null : limits.cpuMillis / 1000;
  const average =
    usage?.cpu_ms === undefined || ranMs === null || ranMs === 0 ? undefined : usage.cpu_ms / ranMs;
  const cores = rates?.cores ?? average;
  if (cores === undefined) return unmeasured("CPU", usage, max === null ? null : `${max} cores`);
  const text = `${cores.toFixed(2)} ${max === null ? "cores" : `of ${max} cores`}`;
  return { name: "CPU", used: cores, max, text };
}

function memoryMeter({ usage, limits }: Used): MeterProps | null {
  const { memoryBytes: max } = limits;
  const of = max === null ? "" : ` of ${bytesText(max)}`;
  const { memory_bytes: now, memory_peak_bytes: peak, oom: isFull = false } = usage ?? {};
  if (now !== undefined && !isFull) {
    const most = peak === undefined ? "" : `, peak ${bytesText(peak)}`;
    return { name: "Memory", used: now, max, peak, text: `${bytesText(now)}${of}${most}` };
  }
  if (peak === undefined) return unmeasured("Memory", usage, max === null ? null : bytesText(max));
  return { name: "Memory", used: peak, max, isFull, text: `peak ${bytesText(peak)}${of}` };
}

/** Reading and writing are limited each by itself, so the faster of the two is nearer to the limit. */
function diskMeter({ usage, rates, limits, isProcess }: Used): MeterProps | null {
  const { ioBytesPerSec: max } = limits;
  const { io_read_bytes: read, io_write_bytes: written } = usage ?? {};
  if (read === undefined || written === undefined) {
    return isProcess ? unmeasured("Disk", usage, max === null ? null : `${bytesText(max)}/s`) : null;
  }
  const total = `${bytesText(read)} read, ${bytesText(written)} written`;
  if (rates === null) return { name: "Disk", used: undefined, max, text: total };
  const rate = Math.max(rates.readBytesPerSec, rates.writeBytesPerSec);
  const of = max === null ? "" : ` of ${bytesText(max)}/s`;
  return { name: "Disk", used: rate, max, text: `${bytesText(Math.round(rate))}/s${of}` };
}

function processesMeter({ usage, limits, isProcess }: Used): MeterProps | null {
  if (!isProcess) return null;
  const { pidsMax: max } = limits;
  const of = max === null ? "" : ` of ${countText(max)}`;
  const { pids, pids_peak: peak } = usage ?? {};
  if (pids !== undefined)
    return { name: "Processes", used: pids, max, peak, text: `${countText(pids)}${of}` };
  if (peak === undefined) return unmeasured("Processes", usage, max === null ? null : countText(max));
  return { name: "Processes", used: peak, max, text: `at most ${countText(peak)}${of}` };
}

/** Before the first report only the limit is known; after it, what is missing is what the worker's host does not count. */
function unmeasured(name: string, usage: JobView["usage"], limit: string | null): MeterProps | null {
  if (usage === null && limit === null) return null;
  const upTo = limit === null ? null : `up to ${limit}`;
  const text = usage === null ? upTo : ["not measured", upTo].filter((part) => part !== null).join(", ");
  return { name, used: undefined, max: null, text: text ?? "" };
}
