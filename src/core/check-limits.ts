import { WritError } from "./errors.ts";
import {
  ioClasses,
  type LimitsText,
  limitHelp,
  networks,
  parseCpu,
  parseMemory,
  pidsRange,
} from "./limits.ts";

type LimitName = keyof LimitsText;

const isLimit: Record<LimitName, (value: unknown) => boolean> = {
  cpu: (value) => typeof value === "string" && parseCpu(value) !== undefined,
  memory: (value) => typeof value === "string" && parseMemory(value) !== undefined,
  io: (value) => (ioClasses as readonly unknown[]).includes(value),
  pids: (value) => Number.isInteger(value) && isWithin(value as number, pidsRange),
  network: (value) => (networks as readonly unknown[]).includes(value),
};

const limitNames = Object.keys(isLimit) as LimitName[];

/** For limits that come from a program and not through a wire, whose shapes say the same. Throws INVALID_ARGUMENT. */
export function checkLimits(limits: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!isName(name))
      throw invalid(`${JSON.stringify(name)} is not the name of a limit; use ${limitNames.join(", ")}`);
    if (value !== undefined && !isLimit[name](value))
      throw invalid(`${name}: ${JSON.stringify(value)} is not allowed; use ${limitHelp[name]}`);
  }
}

function isName(name: string): name is LimitName {
  return Object.hasOwn(isLimit, name);
}

function isWithin(value: number, { min, max }: { min: number; max: number }): boolean {
  return value >= min && value <= max;
}

function invalid(message: string): WritError {
  return new WritError("INVALID_ARGUMENT", message);
}
