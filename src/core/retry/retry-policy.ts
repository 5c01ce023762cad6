// How a producer wants a failed job to be tried again. Why: ADR 0129.
import type { FailureClass } from "../jobs/failure.ts";

export const backoffs = ["fixed", "linear", "exponential"] as const;
type Backoff = (typeof backoffs)[number];

/** As it was submitted: what was left out has its default. */
export type RetryPolicy = {
  /** How often a timeout or an error of the work is tried again. */
  max?: number | undefined;
  delay_sec?: number | undefined;
  backoff?: Backoff | undefined;
  max_delay_sec?: number | undefined;
  /** By which part of itself a delay may be shorter. */
  jitter?: number | undefined;
  /** Only these failures are tried again: codes, or exit codes of a process. */
  on?: (string | number)[] | undefined;
  /** All but these are. */
  not_on?: (string | number)[] | undefined;
};

const retryDefaults = { max: 2, delaySec: 30, maxDelaySec: 3600 } as const;
export const retriesMax = 99;
export const retryDelaySecMax = 86_400;
/** How far away an attempt may ask for the next one. */
export const retryInSecMax = 604_800;

/** The failures that a policy decides about. Lost workers have the number of tries that they always had. */
const decided: readonly FailureClass[] = ["TIMEOUT", "EXECUTION_ERROR"];

export function isDecidedByPolicy(code: FailureClass): boolean {
  return decided.includes(code);
}

/** All attempts of a job whose producer chose a policy and no number of attempts: three more for lost workers. */
export function attemptsOf({ max = retryDefaults.max }: RetryPolicy): number {
  return Math.min(100, max + 4);
}

export function maxRetries({ max }: RetryPolicy): number {
  return wholeNumber(max, retryDefaults.max, retriesMax);
}

/** How many retries of those that the policy counts a job has had. */
export function retriesUsed(counts: Partial<Record<FailureClass, number>>): number {
  return decided.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
}

type Failed = { code: FailureClass; detail: string | null; exitCode: number | null };

/** Whether the policy is for this failure at all. */
export function isRetried({ on, not_on: notOn }: RetryPolicy, failed: Failed): boolean {
  if (Array.isArray(on)) return isNamed(on, failed);
  return !Array.isArray(notOn) || !isNamed(notOn, failed);
}

/** A timeout may leave an exit code too, but that is of the hub's own signal. */
function isNamed(names: readonly (string | number)[], { code, detail, exitCode }: Failed): boolean {
  return names.some((name) =>
    typeof name === "number"
      ? code === "EXECUTION_ERROR" && name === exitCode
      : name === code || name === detail,
  );
}

/** The delay before retry number `count`, of which `chance` (0 to 1) is the part of the jitter that is taken. */
export function policyDelayMs(policy: RetryPolicy, count: number, chance: number): number {
  const delaySec = wholeNumber(policy.delay_sec, retryDefaults.delaySec, retryDelaySecMax);
  const mostSec = wholeNumber(policy.max_delay_sec, retryDefaults.maxDelaySec, retryDelaySecMax);
  const jitter = typeof policy.jitter === "number" ? Math.min(1, Math.max(0, policy.jitter)) : 0;
  return Math.min(mostSec, delaySec * growth(policy.backoff, count)) * 1000 * (1 - jitter * chance);
}

function growth(backoff: Backoff | undefined, count: number): number {
  if (backoff === "fixed") return 1;
  return backoff === "exponential" ? 2 ** (count - 1) : count;
}

/**
 * A number from 0 to 1 that looks random, and is the same whenever it is asked for: FNV-1a, mixed so that attempts that follow one another
 * are far apart. Jobs that fail together come back apart from each other.
 */
export function chanceOf(jobId: string, attempt: number): number {
  let hash = 0x811c9dc5;
  const text = `${jobId} ${attempt}`;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** An edited row may hold anything. Its job is refused at the next claim; until then nothing may come of it that is no number. */
function wholeNumber(given: unknown, otherwise: number, most: number): number {
  return Number.isSafeInteger(given) ? Math.min(most, Math.max(0, given as number)) : otherwise;
}
