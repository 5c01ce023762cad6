import type { CallTrouble } from "./network.ts";
import { seededRandom } from "./random.ts";

/** What a handler does in one attempt: for how long, and how it ends. */
export type Part = { ms: number; end: "result" | "error" | "refusal" };

export type JobPlan = {
  name: string;
  parts: Part[];
  maxAttempts: number | null;
  retry: { max: number; delay_sec: number; backoff: "exponential"; jitter: number } | null;
  timeoutSec: number;
  delayMs: number;
  ttlSec: number | null;
  finishSec: number | null;
  priority: number;
};

/** One thing that somebody does, or that goes wrong. A plan is a list of them, so that it can be made shorter. */
export type Step = { atMs: number } & (
  | { kind: "submit"; job: JobPlan }
  | { kind: "cancel" | "put back"; name: string }
  | { kind: "crash"; who: string; downMs: number }
  | { kind: "cut off"; who: string; forMs: number }
  | { kind: "trouble"; who: string; trouble: CallTrouble }
  | { kind: "set clock"; who: string; toMs: number }
  | { kind: "full disk"; forMs: number }
);

export const workerIds = ["worker-1", "worker-2", "worker-3"] as const;
/** Jobs come, and things go wrong, within this time. */
const roughMs = 10_000;

const troubles: readonly CallTrouble[] = [
  "request lost",
  "answer lost",
  "sent twice",
  "slow request",
  "slow answer",
];
/** Leases are refused if the clocks of hub and worker differ by more than 30 seconds; that is another promise. */
const clockMsMax = 12_000;

/** Some jobs, and some things that go wrong while they run: few in most schedules, many in some. */
export function planOf(seed: number): Step[] {
  const random = seededRandom(seed ^ 0x9e3779b9);
  const atMs = (): number => random.between(0, roughMs);
  const who = (): string => random.pick(["hub", "client", ...workerIds]);
  const steps: Step[] = [];
  const jobCount = random.between(1, 8);
  for (let number = 1; number <= jobCount; number++) {
    const name = `request ${number}`;
    const job = jobOf(name, random);
    const submitAtMs = random.between(0, roughMs / 2);
    steps.push({ kind: "submit", atMs: submitAtMs, job });
    const later = (): number => submitAtMs + random.between(50, 6_000);
    if (random.chance(0.2)) steps.push({ kind: "cancel", atMs: later(), name });
    if (random.chance(0.15)) steps.push({ kind: "put back", atMs: later(), name });
  }
  const isRough = random.chance(0.3);
  const faultCount = random.between(0, isRough ? 30 : 8);
  for (let number = 0; number < faultCount; number++) steps.push({ ...faultOf(), atMs: atMs() });
  return steps.sort((a, b) => a.atMs - b.atMs);

  function faultOf(): Step {
    const atMs = 0;
    const draw = random.next();
    if (draw < 0.5) return { kind: "trouble", atMs, who: who(), trouble: random.pick(troubles) };
    if (draw < 0.75) return { kind: "crash", atMs, who: who(), downMs: random.between(0, 6_000) };
    if (draw < 0.85) return { kind: "cut off", atMs, who: who(), forMs: random.between(100, 8_000) };
    if (draw < 0.93) return { kind: "full disk", atMs, forMs: random.between(50, 4_000) };
    return { kind: "set clock", atMs, who: who(), toMs: random.between(-clockMsMax, clockMsMax) };
  }
}

function jobOf(name: string, random: ReturnType<typeof seededRandom>): JobPlan {
  const part = (): Part => ({
    ms: random.chance(0.7) ? random.between(0, 800) : random.between(1_000, 9_000),
    end: random.pick(["result", "result", "result", "error", "refusal"]),
  });
  return {
    name,
    parts: [part(), part(), part(), part()],
    maxAttempts: random.pick([null, 1, 2, 3, 4]),
    timeoutSec: random.pick([2, 5, 60]),
    delayMs: random.pick([0, 0, 0, 1_500, 6_000]),
    ttlSec: random.chance(0.1) ? random.between(1, 8) : null,
    priority: random.between(1, 10),
    finishSec: random.chance(0.15) ? random.between(2, 20) : null,
    retry: random.chance(0.3)
      ? { max: random.between(0, 3), delay_sec: random.between(0, 3), backoff: "exponential", jitter: 0.5 }
      : null,
  };
}

/** When the last fault of a plan is over. */
export function healsAtMs(plan: readonly Step[]): number {
  return Math.max(0, ...plan.map(endOf));
}

function endOf(step: Step): number {
  if (step.kind === "crash") return step.atMs + step.downMs;
  if (step.kind === "cut off" || step.kind === "full disk") return step.atMs + step.forMs;
  return step.atMs;
}

/** A step in words. */
export function stepText(step: Step): string {
  switch (step.kind) {
    case "submit": {
      const { name, parts, maxAttempts, retry, timeoutSec, delayMs, ttlSec, finishSec } = step.job;
      const ends = parts.map(({ ms, end }) => `${end} after ${ms} ms`).join(", ");
      const more = [
        maxAttempts === null ? "" : `at most ${maxAttempts} attempts`,
        retry === null ? "" : `at most ${retry.max} retries, the first after ${retry.delay_sec} s`,
        delayMs === 0 ? "" : `due in ${delayMs} ms`,
        ttlSec === null ? "" : `waits at most ${ttlSec} s`,
        finishSec === null ? "" : `has to finish within ${finishSec} s`,
        `timeout ${timeoutSec} s`,
      ];
      return `the client submits ${name} (${ends}; ${more.filter((text) => text !== "").join("; ")})`;
    }
    case "cancel":
      return `the client cancels ${step.name}`;
    case "put back":
      return `the client puts ${step.name} back into the queue`;
    case "crash":
      return `${step.who} is killed, and started again ${step.downMs} ms later`;
    case "cut off":
      return `${step.who} is cut off for ${step.forMs} ms`;
    case "trouble":
      return `the next call of ${step.who} meets trouble: ${step.trouble}`;
    case "set clock":
      return `the clock of ${step.who} is set to ${step.toMs} ms from the true time`;
    case "full disk":
      return `the hub's disk is full for ${step.forMs} ms`;
  }
}
