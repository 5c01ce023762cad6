import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { type LimitsText, resolveLimits } from "../../core/limits.ts";
import { ranMs } from "../jobs/row-text.tsx";
import { bytesText, countText, durationText } from "../parts/format.ts";
import { Meter, type MeterProps } from "./meter.tsx";
import { useRates } from "./use-rates.ts";

/** What the job used, beside its limits. Why: ADR 0067. */
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
    // The worker may set limits of its own; the page knows only those of the document.
    limits: { ...resolveLimits((limits ?? {}) as LimitsText), pidsMax: limits?.pids ?? null },
    notApplied: new Map((job.isolation?.missing ?? []).map(({ part, why }) => [part, insteadIn(why)])),
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
            name="Run time"
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

/** The worker tells why a limit could not be set and what it has set instead, in one sentence. */
function insteadIn(why: string): string {
  return why.split("; instead ")[1] ?? "";
}

type Used = {
  usage: JobView["usage"];
  ranMs: number | null;
  rates: ReturnType<typeof useRates>;
  limits: ReturnType<typeof resolveLimits>;
  /** Limits that the worker's host could not set, and the substitute of each; empty if there is none. */
  notApplied: ReadonlyMap<string, string>;
  isProcess: boolean;
};

/** `of` and `besides` follow the amount that was used; `alone` is the text if that amount is unknown. */
type Limit = { max: number | null; of: string; besides: string; alone: string | null };

/** A limit that was not applied is named, and has no bar. */
function limitOf(value: number | null, text: (value: number) => string, instead: string | undefined): Limit {
  if (value === null) return { max: null, of: "", besides: "", alone: null };
  const shown = text(value);
  if (instead === undefined) return { max: value, of: ` of ${shown}`, besides: "", alone: `up to ${shown}` };
  const lost = `limit of ${shown} not applied${instead === "" ? "" : `: ${instead}`}`;
  return { max: null, of: "", besides: `, ${lost}`, alone: lost };
}

function cpuMeter({ usage, ranMs, rates, limits, notApplied }: Used): MeterProps | null {
  const { cpuMillis } = limits;
  const limit = limitOf(
    cpuMillis === null ? null : cpuMillis / 1000,
    (cores) => (cores === 1 ? "1 core" : `${cores} cores`),
    notApplied.get("cpu"),
  );
  const average =
    usage?.cpu_ms === undefined || ranMs === null || ranMs === 0 ? undefined : usage.cpu_ms / ranMs;
  const cores = rates?.cores ?? average;
  if (cores === undefined) return unmeasured("CPU", usage, limit);
  const text = `${cores.toFixed(2)}${limit.of || " cores"}${limit.besides}`;
  return { name: "CPU", used: cores, max: limit.max, text };
}

function memoryMeter({ usage, limits, notApplied }: Used): MeterProps | null {
  const limit = limitOf(limits.memoryBytes, bytesText, notApplied.get("memory"));
  const { max, of, besides } = limit;
  const { memory_bytes: now, memory_peak_bytes: peak, oom: isFull = false } = usage ?? {};
  if (now !== undefined && !isFull) {
    const most = peak === undefined ? "" : `, peak ${bytesText(peak)}`;
    return { name: "Memory", used: now, max, peak, text: `${bytesText(now)}${of}${most}${besides}` };
  }
  if (peak === undefined) return unmeasured("Memory", usage, limit);
  return { name: "Memory", used: peak, max, isFull, text: `peak ${bytesText(peak)}${of}${besides}` };
}

/** Reading and writing are limited each by itself, so the faster of the two is nearer to the limit. */
function diskMeter({ usage, rates, limits, notApplied, isProcess }: Used): MeterProps | null {
  const limit = limitOf(limits.ioBytesPerSec, (bytes) => `${bytesText(bytes)}/s`, notApplied.get("io"));
  const { max, of, besides } = limit;
  const { io_read_bytes: read, io_write_bytes: written } = usage ?? {};
  if (read === undefined || written === undefined) {
    return isProcess ? unmeasured("Disk", usage, limit) : null;
  }
  const total = `${bytesText(read)} read, ${bytesText(written)} written`;
  if (rates === null) return { name: "Disk", used: undefined, max, text: `${total}${besides}` };
  const rate = Math.max(rates.readBytesPerSec, rates.writeBytesPerSec);
  return { name: "Disk", used: rate, max, text: `${bytesText(Math.round(rate))}/s${of}${besides}` };
}

function processesMeter({ usage, limits, notApplied, isProcess }: Used): MeterProps | null {
  if (!isProcess) return null;
  const limit = limitOf(limits.pidsMax, countText, notApplied.get("pids"));
  const { max, of, besides } = limit;
  const { pids, pids_peak: peak } = usage ?? {};
  if (pids !== undefined)
    return { name: "Processes", used: pids, max, peak, text: `${countText(pids)}${of}${besides}` };
  if (peak === undefined) return unmeasured("Processes", usage, limit);
  return { name: "Processes", used: peak, max, text: `at most ${countText(peak)}${of}${besides}` };
}

/**
 * Before the first report only the limit is known. A figure that a report lacks is one that the worker's host does not
 * count.
 */
function unmeasured(name: string, usage: JobView["usage"], { alone }: Limit): MeterProps | null {
  if (usage === null && alone === null) return null;
  const text = usage === null ? alone : ["not measured", alone].filter((part) => part !== null).join(", ");
  return { name, used: undefined, max: null, text: text ?? "" };
}
