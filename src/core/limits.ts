/** The limits of a process, as people write them. */
export type LimitsText = {
  cpu?: string;
  memory?: string;
  io?: IoClass;
  pids?: number;
  network?: Network;
};

/** The names of limits, in the order of the alphabet. */
export const limitNames = ["cpu", "io", "memory", "network", "pids"] as const satisfies (keyof LimitsText)[];

export const ioClasses = ["low", "med", "high"] as const;
type IoClass = (typeof ioClasses)[number];
/** From the widest to the narrowest. */
export const networks = ["host", "closed", "none"] as const;
export type Network = (typeof networks)[number];

/** The same limits in the kernel's units; null means no limit. */
export type Limits = {
  cpuMillis: number | null;
  memoryBytes: number | null;
  ioBytesPerSec: number | null;
  pidsMax: number | null;
  network: Network;
};

export const pidsDefault = 512;
export const pidsRange = { min: 1, max: 32_768 } as const;
const memoryBytesMin = 4 * 1024 ** 2;
const cpuMillisRange = { min: 10, max: 1_024_000 } as const;

const ioBytesPerSec = { low: 1024 ** 2, med: 10 * 1024 ** 2, high: null } as const satisfies Record<
  IoClass,
  number | null
>;

export const limitHelp = {
  cpu: "cores such as 500m, 2 or 1.5, from 10m to 1024, or max",
  memory: "bytes, or a number with K, M or G (powers of 1024), at least 4M, or max",
  io: "low, med or high",
  pids: `a whole number from ${pidsRange.min} to ${pidsRange.max}`,
  network: "host, closed or none",
} as const;

/** Thousandths of a core, null for `max`, undefined when the text is not a cpu limit. */
export function parseCpu(text: string): number | null | undefined {
  if (text === "max") return null;
  const match = /^(?:(\d{1,7})m|(\d{1,4}(?:\.\d{1,3})?))$/.exec(text);
  if (match === null) return undefined;
  const millis = match[1] !== undefined ? Number(match[1]) : Math.round(Number(match[2]) * 1000);
  return millis >= cpuMillisRange.min && millis <= cpuMillisRange.max ? millis : undefined;
}

/** Bytes, null for `max`, undefined when the text is not a memory limit. */
export function parseMemory(text: string): number | null | undefined {
  if (text === "max") return null;
  const match = /^(\d{1,15})([KMG]?)$/.exec(text);
  if (match === null) return undefined;
  const bytes =
    Number(match[1]) * { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 }[match[2] as "" | "K" | "M" | "G"];
  return bytes >= memoryBytesMin && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Converts limits that are already validated into the kernel's units. */
export function resolveLimits(text: LimitsText): Limits {
  return {
    cpuMillis: text.cpu === undefined ? null : (parseCpu(text.cpu) ?? null),
    memoryBytes: text.memory === undefined ? null : (parseMemory(text.memory) ?? null),
    ioBytesPerSec: ioBytesPerSec[text.io ?? "high"],
    pidsMax: text.pids ?? pidsDefault,
    network: text.network ?? "host",
  };
}

/** How much standard input fits into a document. */
export const stdinBytesMax = 64 * 1024;

/** What a command reads on its standard input when that travels as a file. */
export const inputBytesMax = 8 * 1024 ** 2;
