import { useState } from "react";
import type { JobView } from "../../contract/shapes/view-shapes.ts";

/** What a job uses at present, between its last two reports. */
type Rates = { cores: number; readBytesPerSec: number; writeBytesPerSec: number };

type Sample = { attempt: number; at: number; cpuMs: number; readBytes: number; writeBytes: number };

/** Null before the second report of an attempt. Why: ADR 0067. */
export function useRates({ attempt, usage, heartbeat_at }: JobView): Rates | null {
  const [samples, setSamples] = useState<Sample[]>([]);
  const last = samples.at(-1);
  if (usage?.cpu_ms !== undefined && heartbeat_at !== null) {
    const sample = {
      attempt,
      at: heartbeat_at,
      cpuMs: usage.cpu_ms,
      readBytes: usage.io_read_bytes ?? 0,
      writeBytes: usage.io_write_bytes ?? 0,
    };
    const isSame = last?.attempt === attempt;
    // A heartbeat can repeat the report before it.
    if (!isSame || (last.at < sample.at && last.cpuMs !== sample.cpuMs))
      setSamples(isSame ? [last, sample] : [sample]);
  }
  const [first, second] = samples;
  if (first === undefined || second === undefined || second.attempt !== attempt) return null;
  const ms = second.at - first.at;
  const perMs = (name: "cpuMs" | "readBytes" | "writeBytes") => Math.max(0, second[name] - first[name]) / ms;
  return {
    cores: perMs("cpuMs"),
    readBytesPerSec: perMs("readBytes") * 1000,
    writeBytesPerSec: perMs("writeBytes") * 1000,
  };
}
